// Reads that nobody waits for yet.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>

#include "stream/streamer.h"
#include "stream/vault_fixture.h"

namespace smoe {
namespace {

using test::becomes_true;
using test::experts;
using test::Gate;
using test::key;
using test::opened;
using test::scripted;
using test::take_all;
using test::TestVault;
using testing::ElementsAre;
using Pick = Streamer::Pick;

SMOE_FOR_EVERY_ENGINE(Bet);

// Waits until all keys are resident; a call of the step's thread takes note of finished reads.
bool arrive(Streamer& streamer, std::span<const ExpertKey> keys) {
  return becomes_true(streamer, [&] {
    return std::ranges::all_of(keys, [&](ExpertKey one) { return streamer.resident(one); });
  });
}

TEST_P(Bet, IsReadWhileNobodyWaitsAndThenAHit) {
  TestVault vault;
  vault.add_layer(0, 8).add_layer(1, 8);
  const auto streamer = opened(vault, with_slots({16}));
  streamer->bet(experts(1, 0, 4));
  ASSERT_TRUE(arrive(*streamer, experts(1, 0, 4)));
  take_all(*streamer, vault, experts(1, 0, 8));
  const StreamStats stats = streamer->stats();
  EXPECT_EQ(stats.bets, 4U);
  EXPECT_EQ(stats.bets_used, 4U);
  EXPECT_EQ(stats.hits, 4U);
  EXPECT_EQ(stats.reads, 8U);
}

TEST_P(Bet, ThatIsBeingReadIsJoinedNotReadAgain) {
  TestVault vault;
  vault.add_layer(0, 8);
  Gate gate;
  const auto streamer =
      scripted(vault, with_slots({8}), [&](const ReadRequest& request, RecordFiles& real) {
        gate.pass();
        return real.read(request);
      });
  const auto keys = experts(0, 2, 3);
  streamer->bet(keys);
  gate.wait_for(1);
  streamer->demand(keys);
  gate.open();
  EXPECT_TRUE(vault.holds(*streamer->next_ready(Pick::kAny)));
  const StreamStats stats = streamer->stats();
  EXPECT_EQ(stats.joins, 1U);
  EXPECT_EQ(stats.bets_used, 1U);
  EXPECT_EQ(stats.reads, 1U);
}

TEST_P(Bet, ThatIsQueuedIsPromotedBeforeOtherBets) {
  TestVault vault;
  vault.add_layer(0, 16).add_layer(1, 16);
  Gate gate;
  std::mutex mutex;  // guards offsets
  std::vector<uint64_t> offsets;
  StreamerOptions options = with_slots({16});
  options.readers = 1;
  auto streamer = scripted(vault, options, [&](const ReadRequest& request, RecordFiles& real) {
    {
      const std::lock_guard lock(mutex);
      offsets.push_back(request.offset);
    }
    gate.pass();
    return real.read(request);
  });
  auto bets = experts(0, 0, 4);
  bets.insert(bets.begin() + 3, key(1, 4));
  streamer->bet(bets);
  gate.wait_for(1);  // the only reader holds bet 0
  const auto keys = experts(1, 4, 5);
  streamer->demand(keys);
  gate.open();
  EXPECT_TRUE(streamer->next_ready(Pick::kAny));
  ASSERT_TRUE(becomes_true(*streamer, [&] { return streamer->stats().reads == 5; }));
  EXPECT_EQ(streamer->stats().bets, 4U) << "the promoted one was never started as a bet";
  streamer.reset();  // its reader is done with `offsets`
  const VaultInfo& info = vault.files()[0].info();
  EXPECT_THAT(offsets, ElementsAre(info.offset_of(0), vault.files()[1].info().offset_of(4),
                                   info.offset_of(1), info.offset_of(2), info.offset_of(3)));
}

TEST_P(Bet, IsNotStartedWhileDemandsAreQueued) {
  TestVault vault;
  vault.add_layer(0, 16).add_layer(1, 16);
  Gate gate;
  std::mutex mutex;  // guards offsets
  std::vector<uint64_t> offsets;
  StreamerOptions options = with_slots({16});
  options.readers = 1;
  auto streamer = scripted(vault, options, [&](const ReadRequest& request, RecordFiles& real) {
    {
      const std::lock_guard lock(mutex);
      offsets.push_back(request.offset);
    }
    gate.pass();
    return real.read(request);
  });
  streamer->demand(experts(0, 0, 1));
  gate.wait_for(1);
  streamer->bet(experts(1, 8, 10));
  streamer->demand(experts(0, 1, 3));
  gate.open();
  ASSERT_TRUE(becomes_true(*streamer, [&] { return streamer->stats().reads == 5; }));
  streamer.reset();  // its reader is done with `offsets`
  const VaultInfo& info = vault.files()[0].info();
  EXPECT_THAT(offsets, ElementsAre(info.offset_of(0), info.offset_of(1), info.offset_of(2),
                                   info.offset_of(8), info.offset_of(9)));
}

TEST_P(Bet, ThatHasNotStartedWhenItsLayerIsDemandedWithoutItIsDropped) {
  TestVault vault;
  vault.add_layer(0, 16).add_layer(1, 16);
  Gate gate;
  StreamerOptions options = with_slots({16});
  options.readers = 1;
  const auto streamer =
      scripted(vault, options, [&](const ReadRequest& request, RecordFiles& real) {
        gate.pass();
        return real.read(request);
      });
  streamer->demand(experts(0, 0, 1));
  gate.wait_for(1);
  std::vector<ExpertKey> bets = experts(1, 0, 2);
  bets.push_back(key(0, 9));
  streamer->bet(bets);
  streamer->demand(experts(1, 2, 3));
  gate.open();
  while (streamer->outstanding() > 0) ASSERT_TRUE(streamer->next_ready(Pick::kAny));
  ASSERT_TRUE(arrive(*streamer, experts(0, 9, 10)));
  EXPECT_EQ(streamer->stats().bets, 1U);
  EXPECT_EQ(streamer->stats().reads, 3U);
  EXPECT_FALSE(streamer->resident(key(1, 0)));
}

TEST_P(Bet, ThatHasNotStartedGivesWayToTheNextBets) {
  TestVault vault;
  vault.add_layer(0, 16).add_layer(1, 16).add_layer(2, 16);
  Gate gate;
  StreamerOptions options = with_slots({16});
  options.readers = 1;
  const auto streamer =
      scripted(vault, options, [&](const ReadRequest& request, RecordFiles& real) {
        gate.pass();
        return real.read(request);
      });
  streamer->demand(experts(0, 0, 1));
  gate.wait_for(1);
  streamer->bet(experts(1, 0, 3));
  streamer->bet(experts(2, 0, 1));
  gate.open();
  ASSERT_TRUE(streamer->next_ready(Pick::kAny));
  ASSERT_TRUE(arrive(*streamer, experts(2, 0, 1)));
  EXPECT_EQ(streamer->stats().bets, 1U);
}

TEST_P(Bet, SplitsItsBytesIntoUsedAndWasted) {
  TestVault vault;
  vault.add_layer(0, 32);
  const auto streamer = opened(vault, with_slots({6}));
  constexpr uint64_t kRecord = 16 * 1024;
  streamer->bet(experts(0, 20, 23));
  ASSERT_TRUE(arrive(*streamer, experts(0, 20, 23)));
  EXPECT_EQ(streamer->stats().bet_bytes_used + streamer->stats().bet_bytes_wasted, 0U);
  take_all(*streamer, vault, experts(0, 20, 21));
  EXPECT_EQ(streamer->stats().bet_bytes_used, kRecord);
  take_all(*streamer, vault, experts(0, 0, 6));
  EXPECT_EQ(streamer->stats().bet_bytes_used, kRecord);
  EXPECT_EQ(streamer->stats().bet_bytes_wasted, 2 * kRecord);
  EXPECT_EQ(streamer->stats().bytes_read, 9 * kRecord);
}

TEST_P(Bet, IsNotStartedWhileTwoDemandsAreUnderWay) {
  TestVault vault;
  vault.add_layer(0, 16).add_layer(1, 16);
  Gate gate;
  const auto streamer =
      scripted(vault, with_slots({16}), [&](const ReadRequest& request, RecordFiles& real) {
        gate.pass();
        return real.read(request);
      });
  streamer->demand(experts(0, 0, 2));
  gate.wait_for(2);
  streamer->bet(experts(1, 0, 2));
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_EQ(streamer->stats().bets, 0U);
  gate.open();
  while (streamer->outstanding() > 0) ASSERT_TRUE(streamer->next_ready(Pick::kAny));
  EXPECT_TRUE(arrive(*streamer, experts(1, 0, 2)));
  EXPECT_EQ(streamer->stats().bets, 2U);
}

TEST_P(Bet, IsDroppedWhileDemandsWaitForSlots) {
  TestVault vault;
  vault.add_layer(0, 32).add_layer(1, 8, 64);
  const auto streamer = opened(vault, with_slots({2, 8}));
  streamer->demand(experts(0, 0, 32));
  streamer->bet(experts(1, 0, 8));
  while (streamer->outstanding() > 0) ASSERT_TRUE(streamer->next_ready(Pick::kAny));
  EXPECT_EQ(streamer->stats().bets, 0U);
}

TEST_P(Bet, LosesItsSlotBeforeAnyUsedRecordDoes) {
  TestVault vault;
  vault.add_layer(0, 32);
  const auto streamer = opened(vault, with_slots({6}));
  take_all(*streamer, vault, experts(0, 0, 3));
  streamer->bet(experts(0, 20, 23));
  ASSERT_TRUE(arrive(*streamer, experts(0, 20, 23)));
  take_all(*streamer, vault, experts(0, 10, 13));
  for (uint32_t expert = 0; expert < 3; ++expert) EXPECT_TRUE(streamer->resident(key(0, expert)));
  for (uint32_t expert = 20; expert < 23; ++expert)
    EXPECT_FALSE(streamer->resident(key(0, expert)));
}

}  // namespace
}  // namespace smoe
