// What a model is and what its parts weigh, whether it is a model folder, a GGUF file, or a
// checkpoint that nobody has shattered yet: headers alone are read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/settings.h"
#include "engine/engine.h"
#include "formats/scout_file.h"
#include "formats/vault_file.h"
#include "model/spec.h"

namespace smoe::cli {

struct Outline {
  std::string kind;  // "model folder", "GGUF file", "checkpoint"
  ModelSpec spec;
  ScoutInfo scout;                // with the fingerprint
  std::vector<VaultInfo> layers;  // those with experts
  ModelSizes sizes;
  std::vector<std::filesystem::path> files;  // that lie on the disk in question
  std::vector<std::string> notes;
};

// A checkpoint is seen as smoe shatter would store it with the same flags.
// Fails: as open_model_files, plan_shatter and storage_options.
Result<Outline> outline_of(const Settings& settings);

}  // namespace smoe::cli
