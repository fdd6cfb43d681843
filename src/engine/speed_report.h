// Why an answer took as long as it did, from measured times.
#pragma once

#include <cstdint>
#include <string_view>

namespace smoe {

// What most of the time was spent on.
enum class Limit : uint8_t {
  kNone,     // nothing was computed
  kCompute,  // arithmetic, and reading resident weights from memory
  kDisk,     // waits for records, while the ring was filling
  kMemory,   // waits for records that a full ring had no room to keep
  kQueue,    // waits for other requests to end
};

std::string_view name_of(Limit limit);

// Of the steps that a request took part in. Counts are its share by its tokens in each step; waits
// and times are the whole step's, because it waited for all of it.
struct SpeedReport {
  uint64_t steps = 0;
  uint64_t expert_hits = 0;
  uint64_t expert_misses = 0;
  uint64_t bytes_read = 0;
  uint64_t queue_ns = 0;
  uint64_t step_ns = 0;
  uint64_t stall_ns = 0;  // of these, waiting for records
  Limit limit = Limit::kNone;
};

class Engine;

// The ring has been filled, and cannot hold the whole vault.
bool ring_is_short(const Engine& engine);

// What the report's times say. `limited_by_ring`: ring_is_short().
Limit limit_of(const SpeedReport& report, bool limited_by_ring);

}  // namespace smoe
