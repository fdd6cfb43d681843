// After open() a step's calls allocate nothing.
#include <gtest/gtest.h>

#include "stream/streamer.h"
#include "stream/vault_fixture.h"
#include "support/allocation_counter.h"

namespace smoe {
namespace {

SMOE_FOR_EVERY_ENGINE(Allocation);

TEST_P(Allocation, IsZeroInAStep) {
  test::TestVault vault;
  vault.add_layer(0, 64).add_layer(1, 16, 64);
  StreamerOptions options = with_slots({6, 4});
  options.read_timeout_ns = 60'000'000'000;
  const auto streamer = test::opened(vault, options);
  std::vector<ExpertKey> keys = test::experts(0, 0, 64);
  for (const ExpertKey one : test::experts(1, 0, 16)) keys.push_back(one);

  test::start_counting_allocations();
  uint64_t lent = 0;
  for (int step = 0; step < 10; ++step) {
    streamer->demand(keys);
    streamer->bet(std::span(keys).first(8));
    while (streamer->outstanding() > (step % 3 == 0 ? 10U : 0U)) {
      const auto pick = step % 2 == 0 ? Streamer::Pick::kAny : Streamer::Pick::kFirst;
      if (streamer->next_ready(pick)) ++lent;
    }
    streamer->bet(std::span(keys).last(8));
    if (step % 3 == 0) streamer->abandon();
    static_cast<void>(streamer->stats());
  }
  EXPECT_EQ(test::stop_counting_allocations(), 0U);
  EXPECT_EQ(lent, 6U * 80 + 4U * 70);
}

// K7: whichever allocation of open() fails, the outcome is an error or a streamer that works.
TEST_P(Allocation, ThatFailsInOpenIsAnErrorAndNoCrash) {
  test::TestVault vault;
  vault.add_layer(0, 8);
  StreamerOptions options = with_slots({2});
  options.read_timeout_ns = 60'000'000'000;
  test::start_counting_allocations();
  test::opened(vault, options).reset();
  const uint64_t allocations = test::stop_counting_allocations();
  ASSERT_GT(allocations, 10U) << "or the counter does not count";

  uint64_t failed = 0;
  for (uint64_t n = 1; n <= allocations; ++n) {
    test::fail_allocation(n);
    const auto streamer = Streamer::open(vault.files(), options);
    test::fail_allocation(0);
    if (streamer) {
      EXPECT_EQ(test::take_all(**streamer, vault, test::experts(0, 0, 8)).size(), 8U);
    } else {
      EXPECT_EQ(streamer.error().code, Code::kNoMemory);
      ++failed;
    }
  }
  EXPECT_GT(failed, allocations / 2);
}

}  // namespace
}  // namespace smoe
