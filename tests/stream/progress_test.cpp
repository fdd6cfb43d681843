// Every demand is served however small the ring. K5.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <random>
#include <set>
#include <thread>

#include "base/rng.h"
#include "stream/streamer.h"
#include "stream/vault_fixture.h"

namespace smoe {
namespace {

using test::experts;
using test::key;
using test::opened;
using test::take_all;
using test::TestVault;
using testing::HasSubstr;
using Pick = Streamer::Pick;

SMOE_FOR_EVERY_ENGINE(SmallestRing);
SMOE_FOR_EVERY_ENGINE(FullRing);
SMOE_FOR_EVERY_ENGINE(BusyRing);

TEST_P(SmallestRing, ServesAUnionOfAWholeLayer) {
  TestVault vault;
  vault.add_layer(0, 300);
  for (const Pick pick : {Pick::kAny, Pick::kFirst}) {
    const auto streamer = opened(vault, with_slots({2}));
    EXPECT_EQ(take_all(*streamer, vault, experts(0, 0, 300), pick).size(), 300U);
  }
}

TEST_P(SmallestRing, ServesTheFirstWhileAllSlotsHoldLaterOnes) {
  TestVault vault;
  vault.add_layer(0, 8);
  const auto streamer = opened(vault, with_slots({2}));
  take_all(*streamer, vault, experts(0, 1, 3));
  const std::vector<ExpertKey> keys = {key(0, 5), key(0, 1), key(0, 2)};  // 1 and 2 are resident
  EXPECT_EQ(take_all(*streamer, vault, keys, Pick::kFirst), keys);
}

TEST_P(SmallestRing, ServesTheFirstUnderALeaseWhileTheOtherSlotHoldsALaterOne) {
  TestVault vault;
  vault.add_layer(0, 8);
  const auto streamer = opened(vault, with_slots({2}));
  take_all(*streamer, vault, experts(0, 1, 3));
  streamer->demand(std::vector<ExpertKey>{key(0, 1), key(0, 5), key(0, 2)});
  const auto held = streamer->next_ready(Pick::kFirst);
  ASSERT_TRUE(held);
  const auto next = streamer->next_ready(Pick::kFirst);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->key(), key(0, 5));
  EXPECT_TRUE(vault.holds(*held));
}

// A sweep in order over records of which the later half is resident must not be read one by one.
TEST_P(BusyRing, KeepsTheReadersBusyWhileLaterRecordsFillIt) {
  TestVault vault;
  vault.add_layer(0, 32);
  StreamerOptions options = with_slots({16});
  options.readers = 4;
  std::atomic<int> reading{0}, most{0};
  const auto streamer =
      test::scripted(vault, options, [&](const ReadRequest& request, RecordFiles& real) {
        const int now = ++reading;
        if (now > most) most = now;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        auto got = real.read(request);
        --reading;
        return got;
      });
  take_all(*streamer, vault, experts(0, 16, 32));
  most = 0;
  take_all(*streamer, vault, experts(0, 0, 32), Pick::kFirst);
  EXPECT_GE(most, 3);
  EXPECT_LE(streamer->stats().reads, 16U + 16 + 2 * 4) << "few residents gave way";
}

TEST_P(FullRing, SaysSoWhenTheCallerHoldsEverySlot) {
  TestVault vault;
  vault.add_layer(0, 8);
  for (const Pick pick : {Pick::kAny, Pick::kFirst}) {
    const auto streamer = opened(vault, with_slots({2}));
    streamer->demand(experts(0, 0, 3));
    const auto one = streamer->next_ready(Pick::kAny);
    auto two = std::make_unique<Result<Lease>>(streamer->next_ready(Pick::kAny));
    const auto none = streamer->next_ready(pick);
    ASSERT_FALSE(none) << "an error and not an endless wait";
    EXPECT_THAT(none.error().message, HasSubstr("all slots of its size are lent"));
    two.reset();
    EXPECT_TRUE(streamer->next_ready(pick)) << "and it goes on when a lease has ended";
  }
}

struct Shape {
  std::vector<uint32_t> slots;
  unsigned readers;
};

class AnyPattern : public testing::TestWithParam<std::tuple<IoEngine, Shape>> {};

// A caller that obeys the contract: kFirst while it holds leases, anything while it holds none; it
// always leaves a slot of each size for the next record.
TEST_P(AnyPattern, OfDemandsBetsPicksAndLeasesIsServed) {
  TestVault vault;
  vault.add_layer(0, 24).add_layer(1, 12, 64).add_layer(2, 24);
  std::vector<ExpertKey> all = experts(0, 0, 24);
  for (const ExpertKey one : experts(1, 0, 12)) all.push_back(one);
  for (const ExpertKey one : experts(2, 0, 24)) all.push_back(one);
  const auto& [io, shape] = GetParam();
  StreamerOptions options;
  options.io = io;
  options.slots = shape.slots;
  options.readers = shape.readers;
  const auto streamer = opened(vault, options);
  Rng rng(17);
  for (int step = 0; step < 60; ++step) {
    std::shuffle(all.begin(), all.end(), std::minstd_rand(static_cast<unsigned>(rng.next())));
    std::set<ExpertKey> wanted(all.begin(), all.begin() + 1 + static_cast<int>(rng.below(40)));
    streamer->demand(
        std::vector<ExpertKey>(all.begin(), all.begin() + static_cast<int>(wanted.size())));
    if (rng.below(2) == 0) streamer->bet(std::span(all).last(10));
    std::deque<Lease> held;
    while (streamer->outstanding() > 0) {
      if (!held.empty() && rng.below(2) == 0) held.pop_front();
      const Pick pick = !held.empty() || rng.below(2) == 0 ? Pick::kFirst : Pick::kAny;
      auto lease = streamer->next_ready(pick);
      ASSERT_TRUE(lease) << lease.error().message;
      ASSERT_TRUE(vault.holds(*lease));
      ASSERT_EQ(wanted.erase(lease->key()), 1U) << "each is lent once";
      if (held.empty()) held.push_back(std::move(*lease));
      if (rng.below(200) == 0) {
        streamer->abandon();
        wanted.clear();
      }
    }
    EXPECT_TRUE(wanted.empty());
    for (const Lease& lease : held) EXPECT_TRUE(vault.holds(lease));
  }
}

INSTANTIATE_TEST_SUITE_P(Rings, AnyPattern,
                         testing::Combine(testing::ValuesIn(test::engines()),
                                          testing::Values(Shape{{2, 2}, 1}, Shape{{2, 2}, 4},
                                                          Shape{{3, 2}, 2}, Shape{{2, 5}, 3},
                                                          Shape{{16, 6}, 4}, Shape{{48, 12}, 4})));

}  // namespace
}  // namespace smoe
