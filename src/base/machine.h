// What the machine is like, as far as it decides how fast a model streams: facts alone, no
// verdicts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "base/system_memory.h"

namespace smoe {

struct MachineFacts {
  MemoryLimits memory;
  unsigned processors = 1;
  uint64_t swap_bytes = 0;
  uint64_t swap_used_bytes = 0;
  std::string huge_pages;                      // "always", "madvise", "never"; "" where unknown
  std::optional<uint64_t> locked_limit_bytes;  // memory that may be locked; none: no limit
  // Share of the last ten seconds in which something waited for memory, 0 to 1; none where the
  // kernel does not tell.
  std::optional<double> memory_pressure;
};

// Reads /proc and /sys below `root`, as read_memory_limits() does.
MachineFacts read_machine_facts(const std::filesystem::path& root = "/");

struct FileSystemFacts {
  std::string type;         // "ext4"; "" where unknown
  std::string source;       // "/dev/vda"
  std::string mount_point;  // "/"
  bool remote = false;      // over a network
  bool in_memory = false;
  std::optional<bool> rotational;  // a disk that turns; none where unknown
};

// Of the file system that `path` lies on, by the mounts that /proc lists below `root`.
FileSystemFacts file_system_of(const std::filesystem::path& path,
                               const std::filesystem::path& root = "/");

}  // namespace smoe
