// Keeps the ring within what the machine, and the groups that this process is in, have to give: it
// shrinks at once when others need memory, and grows back slowly when they no longer do.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "base/system_memory.h"

namespace smoe {

struct RingBounds {
  uint64_t least_bytes = 0;  // that the ring needs
  uint64_t full_bytes = 0;   // that were planned for it
};

struct MemorySight {
  MemoryLimits memory;
  std::optional<double> pressure;  // read_memory_pressure()
  uint64_t touched_bytes = 0;      // of the ring, that take memory now
};

// How much of the ring may be in use from now on, where `limit_bytes` was so far: what it takes now
// and what is available, less some that stays for others.
uint64_t next_ring_limit(const RingBounds& bounds, uint64_t limit_bytes, const MemorySight& sight);

class MemoryWatch {
 public:
  struct Ring {
    RingBounds bounds;
    // Threads: the watch's own.
    std::function<uint64_t()> touched_bytes = {};
    std::function<void(uint64_t limit_bytes)> limit = {};
  };

  // Looks five times a second, at /proc and /sys below `root`. Cost: a thread, a thousandth of a
  // core.
  explicit MemoryWatch(Ring ring, const std::filesystem::path& root = "/");
  ~MemoryWatch();
  MemoryWatch(const MemoryWatch&) = delete;
  MemoryWatch& operator=(const MemoryWatch&) = delete;

 private:
  void watch();

  const Ring ring_;
  const std::filesystem::path root_;
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stopping_ = false;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace smoe
