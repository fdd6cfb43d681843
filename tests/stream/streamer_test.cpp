#include "stream/streamer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <thread>

#include "base/clock.h"
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
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;
using Pick = Streamer::Pick;

SMOE_FOR_EVERY_ENGINE(Streaming);
SMOE_FOR_EVERY_ENGINE(Cancel);
SMOE_FOR_EVERY_ENGINE(Abandon);
SMOE_FOR_EVERY_ENGINE(Destruction);
SMOE_FOR_EVERY_ENGINE(Verifying);

TEST(RecordClasses, AreTheDistinctSizesFromTheSmallestOn) {
  TestVault vault;
  vault.add_layer(1, 4, 64).add_layer(2, 3).add_layer(5, 2, 64);
  const auto classes = record_classes(vault.files());
  ASSERT_EQ(classes.size(), 2U);
  EXPECT_EQ(classes[0].record_bytes, 16U * 1024);
  EXPECT_EQ(classes[0].records, 3U);
  EXPECT_EQ(classes[1].record_bytes, 48U * 1024);
  EXPECT_EQ(classes[1].records, 6U);
}

TEST_P(Streaming, LendsEveryDemandedRecordOnceWithItsBytes) {
  TestVault vault;
  vault.add_layer(3, 40).add_layer(1, 10, 64);
  const auto streamer = opened(vault, with_slots({8, 4}));
  auto keys = experts(3, 0, 40);
  for (const ExpertKey wide : experts(1, 0, 10)) keys.push_back(wide);
  auto came = take_all(*streamer, vault, keys);
  std::ranges::sort(came);
  std::ranges::sort(keys);
  EXPECT_EQ(came, keys);
  const StreamStats stats = streamer->stats();
  EXPECT_EQ(stats.demands, 50U);
  EXPECT_EQ(stats.reads, 50U);
  EXPECT_EQ(stats.hits, 0U);
  EXPECT_EQ(stats.bytes_read, 40U * 16 * 1024 + 10U * 48 * 1024);
  EXPECT_EQ(stats.retries, 0U);
}

TEST_P(Streaming, LendsInTheOrderOfDemandWhenAskedForTheFirst) {
  TestVault vault;
  vault.add_layer(0, 30);
  const auto streamer = opened(vault, with_slots({5}));
  const auto keys = experts(0, 0, 30);
  EXPECT_EQ(take_all(*streamer, vault, keys, Pick::kFirst), keys);
}

TEST_P(Streaming, ReadsAResidentRecordOnce) {
  TestVault vault;
  vault.add_layer(0, 8);
  const auto streamer = opened(vault, with_slots({8}));
  take_all(*streamer, vault, experts(0, 0, 8));
  EXPECT_TRUE(streamer->resident(key(0, 5)));
  take_all(*streamer, vault, experts(0, 0, 8));
  EXPECT_EQ(streamer->stats().reads, 8U);
  EXPECT_EQ(streamer->stats().hits, 8U);
}

TEST_P(Streaming, LendsARecordTwiceWhenItIsDemandedAgainUnderALease) {
  TestVault vault;
  vault.add_layer(0, 4);
  const auto streamer = opened(vault, with_slots({2}));
  const ExpertKey wanted[] = {key(0, 1)};
  streamer->demand(wanted);
  auto first = std::make_unique<Lease>(std::move(*streamer->next_ready(Pick::kAny)));
  streamer->demand(wanted);
  const auto second = streamer->next_ready(Pick::kFirst);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->slot(), first->slot());
  first.reset();
  EXPECT_TRUE(vault.holds(*second));
}

TEST_P(Streaming, ProtectsAResidentRecordFromTheMomentItIsDemanded) {
  TestVault vault;
  vault.add_layer(0, 8);
  const auto streamer = opened(vault, with_slots({3}));
  take_all(*streamer, vault, experts(0, 0, 1));  // the least recently used from here on
  const std::vector<ExpertKey> keys = {key(0, 1), key(0, 2), key(0, 3), key(0, 4), key(0, 0)};
  take_all(*streamer, vault, keys, Pick::kAny);
  EXPECT_EQ(streamer->stats().reads, 5U) << "record 0 was not read again";
}

TEST_P(Streaming, LeavesTheBytesAloneAsLongAsALeaseHolds) {
  TestVault vault;
  vault.add_layer(0, 64);
  const auto streamer = opened(vault, with_slots({3}));
  const ExpertKey first[] = {key(0, 63)};
  streamer->demand(first);
  const auto held = streamer->next_ready(Pick::kAny);
  ASSERT_TRUE(held);
  take_all(*streamer, vault, experts(0, 0, 60));
  EXPECT_TRUE(vault.holds(*held));
}

TEST_P(Streaming, GivesMemoryInWhichEachRecordLies) {
  TestVault vault;
  vault.add_layer(0, 4).add_layer(1, 4, 64);
  const auto streamer = opened(vault, with_slots({2, 3}));
  EXPECT_EQ(streamer->memory().size(), 2U * 16 * 1024 + 3U * 48 * 1024);
  const ExpertKey wanted[] = {key(1, 2)};
  streamer->demand(wanted);
  const auto lease = streamer->next_ready(Pick::kAny);
  const auto offset = lease->record().data() - streamer->memory().data();
  EXPECT_EQ(static_cast<uint64_t>(offset), 2U * 16 * 1024 + (lease->slot() - 2U) * 48 * 1024);
}

TEST_P(Streaming, SaysHowItReads) {
  TestVault vault;
  vault.add_layer(0, 4);
  StreamerOptions options = with_slots({2});
  options.direct = false;
  options.readers = 3;
  const std::string how = GetParam() == IoEngine::kUring ? "io_uring, buffered, 3 reads at once"
                                                         : "pread, buffered, 3 readers";
  const std::string description = opened(vault, options)->description();
  EXPECT_THAT(description, StartsWith(how));
  EXPECT_THAT(description, EndsWith(", 2 slots of 16.00 KiB, fitted"));
}

TEST_P(Streaming, RefusesALayerThatComesTwice) {
  TestVault vault;
  vault.add_layer(0, 4);
  const std::vector<VaultFile> twice = {vault.files()[0], vault.files()[0]};
  const auto streamer = Streamer::open(twice, with_slots({2}));
  ASSERT_FALSE(streamer);
  EXPECT_EQ(streamer.error().code, Code::kUsage);
  EXPECT_THAT(streamer.error().message, HasSubstr("layer 0 is already in"));
}

TEST_P(Cancel, EndsAWaitWithinMilliseconds) {
  TestVault vault;
  vault.add_layer(0, 8);
  Gate gate;  // the read is stuck: D4
  const auto streamer =
      scripted(vault, with_slots({4}), [&](const ReadRequest& request, RecordFiles& real) {
        gate.pass();
        return real.read(request);
      });
  streamer->demand(experts(0, 0, 2));
  gate.wait_for(1);
  uint64_t cancelled_ns = 0;
  std::thread user([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    cancelled_ns = now_ns();
    streamer->cancel();
  });
  const auto lease = streamer->next_ready(Pick::kAny);
  const uint64_t ended_ns = now_ns();
  user.join();
  ASSERT_FALSE(lease);
  EXPECT_EQ(lease.error().code, Code::kCancelled);
  EXPECT_LT(seconds_between(cancelled_ns, ended_ns), 1.0);  // milliseconds, on an idle machine
  EXPECT_EQ(streamer->next_ready(Pick::kAny).error().code, Code::kCancelled) << "until cleared";

  streamer->abandon();
  streamer->clear_cancel();
  gate.open();
  take_all(*streamer, vault, experts(0, 0, 8));
}

TEST_P(Abandon, ForgetsDemandsAndKeepsWhatIsRead) {
  TestVault vault;
  vault.add_layer(0, 64);
  const auto streamer = opened(vault, with_slots({4}));
  for (int round = 0; round < 50; ++round) {
    streamer->demand(experts(0, 0, 64));
    if (round % 2 == 1) {
      ASSERT_TRUE(streamer->next_ready(Pick::kAny));
    }
    streamer->abandon();
    EXPECT_EQ(streamer->outstanding(), 0U);
  }
  take_all(*streamer, vault, experts(0, 0, 64));
}

TEST_P(Abandon, TakesBackReadsThatNobodyStarted) {
  TestVault vault;
  vault.add_layer(0, 64);
  Gate gate;
  StreamerOptions options = with_slots({32});
  options.readers = 2;
  const auto streamer =
      scripted(vault, options, [&](const ReadRequest& request, RecordFiles& real) {
        gate.pass();
        return real.read(request);
      });
  streamer->demand(experts(0, 0, 32));
  gate.wait_for(2);
  streamer->abandon();
  gate.open();
  take_all(*streamer, vault, experts(0, 40, 41));
  // The two that had begun may end after the demanded one; a call of the step's thread counts them.
  EXPECT_TRUE(becomes_true(*streamer, [&] { return streamer->stats().reads >= 3; }));
  EXPECT_EQ(streamer->stats().reads, 3U);
}

TEST_P(Abandon, KeepsALeaseThatIsHeldValid) {
  TestVault vault;
  vault.add_layer(0, 16);
  const auto streamer = opened(vault, with_slots({2}));
  streamer->demand(experts(0, 0, 4));
  {
    const auto lease = streamer->next_ready(Pick::kAny);
    ASSERT_TRUE(lease);
    streamer->demand(std::vector<ExpertKey>{lease->key()});
    streamer->abandon();
    streamer->demand(experts(0, 8, 9));
    EXPECT_TRUE(streamer->next_ready(Pick::kFirst));
    EXPECT_TRUE(vault.holds(*lease));
  }
  take_all(*streamer, vault, experts(0, 0, 16));
}

TEST_P(Destruction, WaitsForReadsUnderWayAndDropsTheRest) {
  TestVault vault;
  vault.add_layer(0, 64);
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> under_way{0};
    auto streamer =
        scripted(vault, with_slots({32}), [&](const ReadRequest& request, RecordFiles& real) {
          ++under_way;
          auto got = real.read(request);
          --under_way;
          return got;
        });
    streamer->demand(experts(0, 0, 48));
    streamer->bet(experts(0, 60, 62));
    if (round % 3 == 0) {
      ASSERT_TRUE(streamer->next_ready(Pick::kAny));
    }
    streamer.reset();
    EXPECT_EQ(under_way, 0);
  }
}

TEST_P(Verifying, ChecksARecordOnceUnlessAskedForMore) {
  TestVault vault;
  vault.add_layer(0, 8);
  struct Case {
    Verify verify;
    bool fails_first, fails_later;
  };
  for (const Case& one : {Case{Verify::kAlways, true, true}, Case{Verify::kFirst, true, false},
                          Case{Verify::kNever, false, false}}) {
    for (const bool first : {true, false}) {
      StreamerOptions options = with_slots({2});
      options.verify = one.verify;
      std::atomic<bool> damaged{first};
      const auto streamer =
          scripted(vault, options, [&](const ReadRequest& request, RecordFiles& real) {
            auto got = real.read(request);
            if (damaged) request.into[100] ^= std::byte{1};
            return got;
          });
      const auto fails = [&] {
        streamer->demand(experts(0, 0, 1));
        const bool failed = !streamer->next_ready(Pick::kAny);
        streamer->abandon();
        return failed;
      };
      if (!first) {
        EXPECT_FALSE(fails());
        take_all(*streamer, vault, experts(0, 1, 8));  // pushes record 0 out
        damaged = true;
      }
      EXPECT_EQ(fails(), first ? one.fails_first : one.fails_later);
    }
  }
}

TEST_P(Streaming, CountsTheTimeThatItWaited) {
  TestVault vault;
  vault.add_layer(0, 4);
  const auto streamer =
      scripted(vault, with_slots({4}), [&](const ReadRequest& request, RecordFiles& real) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        return real.read(request);
      });
  take_all(*streamer, vault, experts(0, 0, 1));
  EXPECT_GE(streamer->stats().wait_ns, 1'000'000U);
  EXPECT_GE(streamer->stats().read_ns, 5'000'000U);
}

TEST_P(Streaming, BurnsNoProcessorWhileItWaits) {
  TestVault vault;
  vault.add_layer(0, 4);
  const auto streamer =
      scripted(vault, with_slots({4}), [&](const ReadRequest& request, RecordFiles& real) {
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        return real.read(request);
      });
  const auto processor_ms = [] {
    timespec used{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return used.tv_sec * 1000 + used.tv_nsec / 1'000'000;
  };
  streamer->demand(experts(0, 0, 1));
  const auto before = processor_ms();
  ASSERT_TRUE(streamer->next_ready(Pick::kAny));
  EXPECT_LT(processor_ms() - before, 100);
  EXPECT_GE(streamer->stats().wait_ns, 250'000'000U);
}

TEST_P(Streaming, CountsTheDiskTimeThatTheStepDidNotWaitFor) {
  TestVault vault;
  vault.add_layer(0, 4);
  const auto streamer =
      scripted(vault, with_slots({4}), [&](const ReadRequest& request, RecordFiles& real) {
        std::this_thread::sleep_for(std::chrono::milliseconds(40));
        return real.read(request);
      });
  streamer->demand(experts(0, 0, 1));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // the step computes
  ASSERT_TRUE(streamer->next_ready(Pick::kAny));
  const StreamStats stats = streamer->stats();
  EXPECT_GE(stats.disk_busy_ns, 40'000'000U);
  EXPECT_GE(stats.overlap_ns(), 15'000'000U);
  EXPECT_LE(stats.overlap_ns(), stats.disk_busy_ns - stats.wait_ns);
}

}  // namespace
}  // namespace smoe
