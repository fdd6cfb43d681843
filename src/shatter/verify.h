// Reads every byte of a model folder and checks every checksum; of a GGUF file, which has none,
// every number.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace smoe {

struct VerifyReport {
  uint64_t bytes = 0;
  uint32_t files = 0;
  uint64_t records = 0;
  uint32_t tensors = 0;
  std::vector<std::string> problems;  // one line each: file, layer and expert or tensor, the fact
  double seconds = 0;
};

// A folder or a GGUF file. Fails only when it cannot be examined at all; damage is listed in
// `problems`.
Result<VerifyReport> verify(const std::filesystem::path& model, unsigned threads,
                            const std::function<void(uint64_t done, uint64_t total)>& progress,
                            const std::atomic<bool>* cancelled);

}  // namespace smoe
