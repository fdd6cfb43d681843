// What a model is made of on the disk, opened and checked: a model folder, or a file of another
// kind that an index in memory makes look like one (shatter/unshattered.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "formats/scout_file.h"
#include "formats/vault_file.h"
#include "model/spec.h"

namespace smoe {

// No weights yet.
struct ModelFiles {
  std::filesystem::path path;  // a folder, or a GGUF file
  ScoutFile scout;
  std::vector<VaultFile> vault;  // ascending by layer
  ModelSpec spec;
  // Reads the scout where it does not lie in a file of its own.
  std::shared_ptr<ScoutReader> scout_reader = {};
  uint64_t tokenizer_bytes = 0;         // of a tokenizer.json
  std::vector<std::string> notes = {};  // for people: what cannot be checked

  // A model folder. Fails: kNotFound (no model folder: says how to make one), kCorrupt (a vault of
  // another scout, a missing layer, a record that contradicts the spec), naming the file.
  static Result<ModelFiles> open(const std::filesystem::path& folder);
  uint64_t vault_bytes() const;
};

}  // namespace smoe
