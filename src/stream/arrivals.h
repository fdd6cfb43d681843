// Memory in which the rows of records that no vault holds arrive, until they are tiles in a slot.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/units.h"
#include "stream/reader.h"
#include "stream/request_queue.h"

namespace smoe {

// A buffer for each request that an engine can hold at once. Threads: any. Cost: no allocation
// after construction.
class Arrivals {
 public:
  // Of all buffers; 0 when nothing is read in pieces (largest_read_bytes is 0).
  static uint64_t bytes_for(uint64_t largest_read_bytes, unsigned readers) {
    return buffer_bytes(largest_read_bytes) * most_requests(readers);
  }

  // `memory` has bytes_for() bytes and outlives this.
  Arrivals(uint64_t largest_read_bytes, unsigned readers, std::span<std::byte> memory)
      : bytes_(buffer_bytes(largest_read_bytes)), memory_(memory), free_(most_requests(readers)) {
    for (uint32_t i = 0; i < most_requests(readers); ++i) free_.push(i);
  }

  uint32_t take();
  void give_back(uint32_t buffer);
  std::span<std::byte> buffer(uint32_t index) const {
    return memory_.subspan(index * bytes_, bytes_);
  }

 private:
  static uint64_t buffer_bytes(uint64_t largest) { return align_up<uint64_t>(largest, kPageBytes); }

  const uint64_t bytes_;
  const std::span<std::byte> memory_;
  RequestQueue<uint32_t> free_;
  std::atomic<uint32_t> given_back_{0};  // how often
};

}  // namespace smoe
