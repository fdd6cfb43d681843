// How fast a disk gives up what lies on it, from a short probe that only reads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "base/result.h"

namespace smoe {

struct DiskProbeOptions {
  uint64_t block_bytes = uint64_t{2} << 20U;  // of a random read: about a record
  unsigned readers = 4;                       // reads under way at once
  uint64_t time_ns = 1'000'000'000;           // of each of the three measurements
};

struct DiskSpeed {
  bool direct = false;  // past the page cache, and giving the same bytes as an ordinary read
  double sequential_bytes_per_second = 0;
  double random_bytes_per_second = 0;
  uint64_t latency_ns = 0;   // of a random read alone: the middle one of all
  uint64_t block_bytes = 0;  // of a random read; smaller where the files are
};

// Reads parts of `files`, which are those of a vault or any others of the same disk. Where they are
// small they may come from the disk's own cache. Fails: kNotFound, kIo, kUsage (nothing of 16 KiB
// to read), naming the file.
Result<DiskSpeed> probe_disk(std::span<const std::filesystem::path> files,
                             const DiskProbeOptions& options);

// Whether io_uring serves reads of this file: one real read tells. Fails: kUnsupported, saying why.
Status probe_uring(const std::filesystem::path& file);

}  // namespace smoe
