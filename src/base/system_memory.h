// What this process may use of the machine: memory and processors, as cgroup v1 and v2 limit them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace smoe {

struct MemoryLimits {
  uint64_t total_bytes = 0;              // the machine's
  uint64_t available_bytes = 0;          // MemAvailable, within every enclosing cgroup's limit
  std::optional<uint64_t> cgroup_bytes;  // the tightest limit of any enclosing group
};

// Reads /proc and /sys below `root` ("/" in production, a fake tree in tests). Page cache that the
// kernel would give back (inactive_file) counts as available; "max" is no limit; every parent group
// is walked, v1 and v2 alike.
MemoryLimits read_memory_limits(const std::filesystem::path& root = "/");

// Share of the last ten seconds in which something in this process's group (or, where that is not
// told, in the machine) waited for memory: 0 to 1. Nothing where the kernel does not tell.
std::optional<double> read_memory_pressure(const std::filesystem::path& root = "/");

// min(online processors in the affinity mask, floor(quota / period) of every enclosing group), at
// least 1.
unsigned usable_processors(const std::filesystem::path& root = "/");

// What to add to a message about memory that could not be had: "" or "; ulimit -v allows 97.66
// MiB".
std::string address_space_hint();

// Peak resident bytes of this process so far (VmHWM).
uint64_t peak_resident_bytes();

// This process's memory that no file backs, and how much of it the kernel has put into huge pages.
// Cost: the kernel walks the page tables, milliseconds for gigabytes.
struct HugePages {
  uint64_t memory_bytes = 0;
  uint64_t huge_bytes = 0;
};
// Nothing where the kernel does not tell.
std::optional<HugePages> read_huge_pages(const std::filesystem::path& root = "/");

}  // namespace smoe
