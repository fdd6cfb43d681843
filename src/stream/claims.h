// How often each expert was wanted in earlier runs, kept in a small file, so that a ring can be
// filled before anybody asks. Changes no result.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/thread_pool.h"
#include "formats/vault_file.h"
#include "stream/expert_key.h"

namespace smoe {

class Claims {
 public:
  // Nobody was wanted yet.
  explicit Claims(std::span<const VaultFile> layers);

  // Fails: kNotFound, kIo, kCorrupt (damaged, or another model's); then nothing is changed.
  Status read(const std::filesystem::path& path);
  // Crash-safe. Fails: kIo, kNoSpace.
  Status write(const std::filesystem::path& path) const;

  // Adds a run, which weighs as much as all runs before it at the most: what is wanted changes.
  void add(FunctionRef<uint32_t(ExpertKey key)> claims);
  // Those that were wanted at all, most often first; at most `count`.
  std::vector<ExpertKey> most_wanted(size_t count) const;

 private:
  struct Layer {
    uint32_t layer = 0;
    uint32_t experts = 0;
  };
  std::vector<std::byte> header() const;

  uint64_t fingerprint_ = 0;
  std::vector<Layer> layers_;
  std::vector<ExpertKey> keys_;
  std::vector<float> shares_;  // by key; of all claims
};

}  // namespace smoe
