#include "devices/cpu/read_bandwidth.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>

#include "base/clock.h"

namespace smoe {
namespace {

constexpr size_t kBlock = 256 * 1024;
constexpr uint64_t kTime = 200'000'000;  // ns

// Several sums side by side, so that adding is never what one waits for.
uint64_t sum_of(std::span<const std::byte> block) {
  constexpr size_t kLanes = 32;
  std::array<uint64_t, kLanes> sums{};
  std::array<uint64_t, kLanes> words{};
  for (size_t at = 0; at + sizeof words <= block.size(); at += sizeof words) {
    std::memcpy(words.data(), block.data() + at, sizeof words);
    for (size_t lane = 0; lane < kLanes; ++lane) sums[lane] += words[lane];
  }
  uint64_t total = 0;
  for (const uint64_t sum : sums) total += sum;
  return total;
}

}  // namespace

double read_bandwidth(ThreadPool& pool, std::span<const std::byte> memory) {
  const size_t blocks = memory.size() / kBlock;
  if (blocks == 0) return 0;
  std::atomic<uint64_t> sink{0};  // what is read must seem to be used
  double best = 0;
  const uint64_t begin_ns = now_ns();
  for (uint64_t pass_ns = begin_ns; pass_ns - begin_ns < kTime;) {
    pool.run(blocks, [&](size_t block, unsigned) {
      sink.fetch_add(sum_of(memory.subspan(block * kBlock, kBlock)), std::memory_order_relaxed);
    });
    const uint64_t end_ns = now_ns();
    best = std::max(best, static_cast<double>(blocks * kBlock) * 1e9 /
                              static_cast<double>(std::max<uint64_t>(1, end_ns - pass_ns)));
    pass_ns = end_ns;
  }
  return best;
}

}  // namespace smoe
