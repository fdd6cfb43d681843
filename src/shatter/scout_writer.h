// Writes scout.safetensors from tensors in any order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/thread_pool.h"
#include "formats/scout_file.h"
#include "formats/tiles.h"
#include "shatter/partial_file.h"

namespace smoe {

class ScoutWriter {
 public:
  // `info` is as planned. Nothing is created before the first tensor.
  ScoutWriter(const ScoutInfo& info, std::filesystem::path path, ThreadPool& pool);

  // Called after each piece of a large matrix; an error ends the writing.
  using BetweenPieces = std::function<Status(uint32_t tiles_done, uint32_t tiles)>;

  // A matrix goes through a buffer of a few MiB, whatever its size.
  Status add_matrix(size_t tensor, const RowMajor& source, const BetweenPieces& between);
  Status add_vector(size_t tensor, std::span<const float> values);
  // All tensors are there: writes the header and gives the file its name.
  Status finish();

 private:
  Status write(uint64_t offset, std::span<const std::byte> data);

  ScoutInfo info_;
  std::filesystem::path path_;
  ThreadPool& pool_;
  PartialFile file_;
  std::vector<bool> arrived_;
  std::vector<std::byte> buffer_;
};

}  // namespace smoe
