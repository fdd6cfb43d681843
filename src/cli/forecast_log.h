// What was predicted and what came of it: a small file in the state folder, so that the next
// prediction is a better one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace smoe::cli {

// What makes two runs comparable.
struct ForecastKey {
  uint64_t fingerprint = 0;  // of the model
  uint64_t ring_slots = 0;
  unsigned threads = 0;
  friend bool operator==(const ForecastKey&, const ForecastKey&) = default;
};

struct MeasuredRun {
  uint64_t prompt_tokens = 0;
  uint64_t tokens = 0;  // generated
  double tokens_per_second = 0;
  double first_token_seconds = 0;
  double hit_rate = 0;
};

struct ForecastEntry {
  ForecastKey key;
  uint64_t prompt_tokens = 0;  // that the prediction is for
  double tokens_per_second = 0;
  double first_token_seconds = 0;
  std::vector<MeasuredRun> runs;  // the latest ones, oldest first
};

// Threads: one. Several processes may write at once: each time one of them wins. A file that cannot
// be read counts as empty.
class ForecastLog {
 public:
  static constexpr size_t kMostEntries = 64;
  static constexpr size_t kMostRuns = 8;

  // In this folder; an empty path keeps nothing.
  explicit ForecastLog(const std::filesystem::path& state_folder);

  // nullptr when nothing was predicted for it.
  const ForecastEntry* find(const ForecastKey& key) const;
  // Replaces an earlier prediction and keeps its runs.
  void predict(ForecastEntry entry);
  // Without effect when nothing was predicted for it.
  void measure(const ForecastKey& key, const MeasuredRun& run);
  // Crash-safe. Fails: kIo, kNoSpace.
  Status save() const;

 private:
  std::filesystem::path path_;
  std::vector<ForecastEntry> entries_;  // the latest prediction last
};

}  // namespace smoe::cli
