// Counters that several threads add to and anyone may read.
#pragma once

#include <atomic>
#include <cstdint>

namespace smoe {

inline void add(std::atomic<uint64_t>& counter, uint64_t amount) {
  counter.fetch_add(amount, std::memory_order_relaxed);
}

}  // namespace smoe
