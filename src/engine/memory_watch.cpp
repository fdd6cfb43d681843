#include "engine/memory_watch.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/log.h"
#include "base/units.h"

namespace smoe {
namespace {

constexpr std::chrono::milliseconds kLookEvery{200};
constexpr uint64_t kLeastHeadroom = 32 * kMiB;
constexpr uint64_t kMostHeadroom = kGiB;
constexpr uint64_t kHeadroomShare = 20;  // a twentieth of all memory
constexpr uint64_t kSlowly = 128;        // of the planned ring at each look: full in half a minute
constexpr uint64_t kWorthIt = 32;        // less than this share more is not worth a change
constexpr double kPressed = 0.1;         // of the time

}  // namespace

uint64_t next_ring_limit(const RingBounds& bounds, uint64_t limit_bytes, const MemorySight& sight) {
  const uint64_t all = sight.memory.cgroup_bytes.value_or(sight.memory.total_bytes);
  const uint64_t headroom =
      std::clamp(all / kHeadroomShare, std::min(kLeastHeadroom, all / 4), kMostHeadroom);
  const uint64_t there = sight.touched_bytes + sight.memory.available_bytes;
  const uint64_t allowed =
      std::clamp(there - std::min(there, headroom), bounds.least_bytes, bounds.full_bytes);
  if (allowed < limit_bytes) return allowed;
  const bool pressed = sight.pressure.value_or(0) > kPressed;
  const bool worth_it =
      allowed - limit_bytes > bounds.full_bytes / kWorthIt || allowed == bounds.full_bytes;
  if (pressed || !worth_it) return limit_bytes;
  return std::min(allowed, limit_bytes + bounds.full_bytes / kSlowly + 1);
}

MemoryWatch::MemoryWatch(Ring ring, const std::filesystem::path& root)
    : ring_(std::move(ring)), root_(root), thread_([this] { watch(); }) {}

MemoryWatch::~MemoryWatch() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  stopped_.notify_all();
  thread_.join();
}

void MemoryWatch::watch() {
  uint64_t limit_bytes = ring_.bounds.full_bytes;
  bool short_of_memory = false;
  std::unique_lock lock(mutex_);
  while (!stopped_.wait_for(lock, kLookEvery, [this] { return stopping_; })) {
    MemorySight sight;
    sight.memory = read_memory_limits(root_);
    if (sight.memory.total_bytes == 0) continue;  // nothing is told here
    sight.pressure = read_memory_pressure(root_);
    sight.touched_bytes = ring_.touched_bytes();
    const uint64_t next = next_ring_limit(ring_.bounds, limit_bytes, sight);
    // Called even when it is the same: what could not be given back before may be free by now.
    ring_.limit(next);
    limit_bytes = next;
    if (next < ring_.bounds.full_bytes && !short_of_memory)
      log::info("memory is short ({} available): the ring shrinks to {} for now",
                format_bytes(sight.memory.available_bytes), format_bytes(next));
    short_of_memory = next < ring_.bounds.full_bytes;
  }
}

}  // namespace smoe
