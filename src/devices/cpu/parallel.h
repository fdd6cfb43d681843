// Loops over rows or tiles, spread over the threads where that pays.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/thread_pool.h"
#include "base/units.h"

namespace smoe::cpu {

// Multiply-adds below which a loop stays on the calling thread: handing work over costs one to two
// microseconds while the workers are awake, and these take about five.
inline constexpr uint64_t kInlineWork = 64 * 1024;

// Calls body(begin, end, worker) for ranges that cover [0, count). `work`: multiply-adds in all.
inline void for_each_range(ThreadPool& pool, uint32_t count, uint64_t work,
                           FunctionRef<void(uint32_t begin, uint32_t end, unsigned worker)> body) {
  if (count == 0) return;
  if (work < kInlineWork || pool.threads() == 1) return body(0, count, 0);
  // Four ranges a thread even out a core that is busy elsewhere; multiples of four keep tile groups
  // whole.
  uint32_t each = ceil_div(count, pool.threads() * 4);
  if (each > 2) each = align_up(each, 4U);
  pool.run(ceil_div(count, each), [&](size_t task, unsigned worker) {
    const uint32_t begin = static_cast<uint32_t>(task) * each;
    body(begin, std::min(begin + each, count), worker);
  });
}

}  // namespace smoe::cpu
