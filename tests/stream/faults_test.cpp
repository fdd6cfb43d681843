// A disk that fails, is short, is slow, is stuck or flips bits: every read ends as data or as an
// error that reaches the step that asked. D1-D4, D6.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <mutex>
#include <thread>

#include "base/clock.h"
#include "base/rng.h"
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
using testing::HasSubstr;
using Pick = Streamer::Pick;

constexpr uint64_t kMs = 1'000'000;

Error broken() { return {Code::kIo, "cannot read: Input/output error"}; }

SMOE_FOR_EVERY_ENGINE(Disk);
SMOE_FOR_EVERY_ENGINE(FlippedBit);
SMOE_FOR_EVERY_ENGINE(FailedBet);
SMOE_FOR_EVERY_ENGINE(StuckRead);
SMOE_FOR_EVERY_ENGINE(SlowRead);
SMOE_FOR_EVERY_ENGINE(VaultOnDisk);

TEST_P(Disk, ThatFailsTwiceIsReadAThirdTime) {
  TestVault vault;
  vault.add_layer(0, 8);
  std::atomic<int> calls{0};
  const auto streamer = scripted(
      vault, with_slots({4}), [&](const ReadRequest& request, RecordFiles& real) -> Result<size_t> {
        if (++calls <= 2) return broken();
        return real.read(request);
      });
  const uint64_t began = now_ns();
  take_all(*streamer, vault, experts(0, 0, 1));
  EXPECT_GE(now_ns() - began, 11 * kMs) << "it backs off 1 ms, then 10 ms";
  EXPECT_EQ(streamer->stats().retries, 2U);
  EXPECT_EQ(calls, 3);
}

TEST_P(Disk, ThatGoesOnFailingFailsTheRequestAndNamesTheRecord) {
  TestVault vault;
  vault.add_layer(7, 8);
  std::atomic<int> calls{0};
  const auto bad = vault.files()[0].info().offset_of(5);
  const auto streamer = scripted(
      vault, with_slots({8}), [&](const ReadRequest& request, RecordFiles& real) -> Result<size_t> {
        if (request.offset != bad) return real.read(request);
        ++calls;
        return broken();
      });
  streamer->demand(experts(7, 0, 8));
  Result<Lease> lease = streamer->next_ready(Pick::kAny);
  while (lease) lease = streamer->next_ready(Pick::kAny);
  EXPECT_EQ(lease.error().code, Code::kIo);
  EXPECT_THAT(lease.error().message,
              HasSubstr("layer-00007.safetensors: layer 7, expert 5: cannot read: Input/output "
                        "error (after 3 attempts)"));
  EXPECT_EQ(calls, 3);
  EXPECT_FALSE(streamer->next_ready(Pick::kAny)) << "until it is abandoned";

  streamer->abandon();  // the process lives on
  take_all(*streamer, vault, experts(7, 0, 5));
  EXPECT_FALSE(streamer->resident(key(7, 5)));
}

TEST_P(Disk, ThatComesBackServesTheNextRequest) {  // D5
  TestVault vault;
  vault.add_layer(0, 32);
  std::atomic<bool> gone{true};
  const auto streamer = scripted(
      vault, with_slots({4}), [&](const ReadRequest& request, RecordFiles& real) -> Result<size_t> {
        if (gone) return broken();
        return real.read(request);
      });
  for (int request = 0; request < 3; ++request) {
    streamer->demand(experts(0, 0, 32));
    ASSERT_FALSE(streamer->next_ready(Pick::kFirst));
    streamer->abandon();
  }
  gone = false;
  take_all(*streamer, vault, experts(0, 0, 32));
}

TEST_P(Disk, WithShortReadsGivesTheSameBytes) {  // D1
  TestVault vault;
  vault.add_layer(0, 12).add_layer(1, 6, 64);
  for (const bool direct : {true, false}) {
    StreamerOptions options = with_slots({3, 2});
    options.direct = direct;
    options.readers = 1;
    std::mutex mutex;  // guards rng
    Rng rng(5);
    const auto streamer =
        scripted(vault, options, [&](const ReadRequest& request, RecordFiles& real) {
          ReadRequest piece = request;
          {
            const std::lock_guard lock(mutex);
            piece.into = request.into.first(1 + rng.below(request.into.size()));
          }
          return real.read(piece);
        });
    auto keys = experts(0, 0, 12);
    for (const ExpertKey wide : experts(1, 0, 6)) keys.push_back(wide);
    take_all(*streamer, vault, keys);
    EXPECT_EQ(streamer->stats().retries, 0U) << "a short read is no failure";
    EXPECT_EQ(streamer->stats().reads, 18U);
  }
}

TEST_P(Disk, ThatIsShortAndThenFailsIsReadFromTheRecordsStart) {
  TestVault vault;
  vault.add_layer(0, 4);
  std::atomic<int> calls{0};
  std::atomic<uint64_t> last_offset{0};
  const auto streamer = scripted(
      vault, with_slots({2}), [&](const ReadRequest& request, RecordFiles& real) -> Result<size_t> {
        const int call = ++calls;
        last_offset = request.offset;
        if (call == 2) return broken();
        ReadRequest piece = request;
        if (call == 1) piece.into = request.into.first(4096);
        return real.read(piece);
      });
  take_all(*streamer, vault, experts(0, 2, 3));
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(last_offset, vault.files()[0].info().offset_of(2));
}

TEST_P(Disk, WithErrorsAtRandomGivesRightBytesOrANamedError) {  // D2, D3
  TestVault vault;
  vault.add_layer(0, 64);
  StreamerOptions options = with_slots({8});
  options.readers = 4;
  std::atomic<uint64_t> calls{0};
  const auto streamer = scripted(
      vault, options, [&](const ReadRequest& request, RecordFiles& real) -> Result<size_t> {
        Rng rng(++calls);
        if (rng.uniform() < 0.2) return broken();
        ReadRequest piece = request;
        if (rng.uniform() < 0.2) piece.into = request.into.first(4096);
        return real.read(piece);
      });
  int failed = 0;
  for (int round = 0; round < 40; ++round) {
    streamer->demand(experts(0, 0, 64));
    while (streamer->outstanding() > 0) {
      const auto lease = streamer->next_ready(round % 2 == 0 ? Pick::kAny : Pick::kFirst);
      if (lease) {
        ASSERT_TRUE(vault.holds(*lease));
        continue;
      }
      ++failed;
      EXPECT_THAT(lease.error().message, HasSubstr("layer 0, expert "));
      streamer->abandon();
    }
  }
  EXPECT_GT(streamer->stats().retries, 0U);
  EXPECT_LT(failed, 40);
}

TEST_P(FlippedBit, IsReadAgainOnceAndThenRight) {
  TestVault vault;
  vault.add_layer(0, 4);
  std::atomic<int> calls{0};
  std::atomic<bool> fresh{false};
  const auto streamer =
      scripted(vault, with_slots({2}), [&](const ReadRequest& request, RecordFiles& real) {
        auto got = real.read(request);
        if (++calls == 1) request.into[12345] ^= std::byte{4};
        fresh = request.fresh;
        return got;
      });
  take_all(*streamer, vault, experts(0, 1, 2));
  EXPECT_EQ(calls, 2);
  EXPECT_TRUE(fresh) << "the second read must not come from the page cache";
}

// D7's promise at the size of a test: no flipped bit is ever computed with.
TEST_P(FlippedBit, ThatStaysFailsTheRequestWhereverItIs) {
  TestVault vault;
  vault.add_layer(2, 4);
  Rng rng(11);
  std::atomic<uint64_t> bit{0};
  std::atomic<int> calls{0};
  const auto streamer =
      scripted(vault, with_slots({2}), [&](const ReadRequest& request, RecordFiles& real) {
        auto got = real.read(request);
        ++calls;
        request.into[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
        return got;
      });
  for (int round = 0; round < 100; ++round) {
    bit = rng.below(16 * 1024 * 8);
    calls = 0;
    streamer->demand(experts(2, 3, 4));
    const auto lease = streamer->next_ready(Pick::kAny);
    ASSERT_FALSE(lease) << "bit " << bit;
    EXPECT_EQ(lease.error().code, Code::kCorrupt);
    EXPECT_THAT(lease.error().message, HasSubstr("layer 2, expert 3: the checksum is "));
    EXPECT_EQ(calls, 2);
    streamer->abandon();
  }
}

TEST_P(FailedBet, IsSilentAndCostsNoRetry) {
  TestVault vault;
  vault.add_layer(0, 16);
  std::atomic<int> calls{0};
  std::atomic<bool> bad{true};
  const auto streamer = scripted(
      vault, with_slots({8}), [&](const ReadRequest& request, RecordFiles& real) -> Result<size_t> {
        ++calls;
        if (bad) return broken();
        return real.read(request);
      });
  streamer->bet(experts(0, 0, 3));
  ASSERT_TRUE(becomes_true(*streamer, [&] { return calls == 3; }));
  bad = false;
  take_all(*streamer, vault, experts(0, 0, 8));
  EXPECT_EQ(streamer->stats().retries, 0U);
}

TEST_P(FailedBet, ThatADemandJoinedIsReadAsADemand) {
  TestVault vault;
  vault.add_layer(0, 16);
  Gate gate;
  std::atomic<int> calls{0};
  const auto streamer = scripted(
      vault, with_slots({8}), [&](const ReadRequest& request, RecordFiles& real) -> Result<size_t> {
        gate.pass();
        if (++calls <= 3) return broken();  // the bet's attempt, then two of a demand's
        return real.read(request);
      });
  streamer->bet(experts(0, 4, 5));
  gate.wait_for(1);
  streamer->demand(experts(0, 4, 5));
  gate.open();
  EXPECT_TRUE(vault.holds(*streamer->next_ready(Pick::kAny)));
  EXPECT_EQ(calls, 4);
  EXPECT_EQ(streamer->stats().joins, 1U);
}

TEST_P(StuckRead, FailsItsRequestAtTheDeadlineAndMayStillArriveLater) {  // D4
  TestVault vault;
  vault.add_layer(0, 16);
  StreamerOptions options = with_slots({4});
  options.read_timeout_ns = 50 * kMs;
  options.readers = 2;
  Gate gate;
  const auto stuck = vault.files()[0].info().offset_of(3);
  const auto streamer =
      scripted(vault, options, [&](const ReadRequest& request, RecordFiles& real) {
        if (request.offset == stuck) gate.pass();
        return real.read(request);
      });
  streamer->demand(experts(0, 0, 8));
  const uint64_t began = now_ns();
  Result<Lease> lease = streamer->next_ready(Pick::kFirst);
  while (lease) lease = streamer->next_ready(Pick::kFirst);
  const uint64_t ended = now_ns();
  EXPECT_EQ(lease.error().code, Code::kIo);
  EXPECT_THAT(lease.error().message, HasSubstr("layer 0, expert 3: not read within 50 ms"));
  EXPECT_GE(ended - began, 50 * kMs);
  EXPECT_LT(ended - began, 2000 * kMs);
  streamer->abandon();

  take_all(*streamer, vault, experts(0, 8, 16));  // the other reader goes on, in the other slots
  gate.open();
  ASSERT_TRUE(becomes_true(*streamer, [&] { return streamer->resident(key(0, 3)); }));
  take_all(*streamer, vault, experts(0, 0, 8));
}

TEST_P(StuckRead, OfEveryReaderStillEndsAtTheDeadline) {
  TestVault vault;
  vault.add_layer(0, 16);
  StreamerOptions options = with_slots({4});
  options.read_timeout_ns = 30 * kMs;
  options.readers = 2;
  Gate gate;
  const auto streamer =
      scripted(vault, options, [&](const ReadRequest& request, RecordFiles& real) {
        gate.pass();
        return real.read(request);
      });
  for (uint32_t request = 0; request < 4; ++request) {  // later ones never reach a reader
    streamer->demand(experts(0, 2 * request, 2 * request + 2));
    EXPECT_EQ(streamer->next_ready(Pick::kAny).error().code, Code::kIo);
    streamer->abandon();
  }
  gate.open();
  take_all(*streamer, vault, experts(0, 0, 16));
}

TEST_P(SlowRead, WithinTheDeadlineIsNoFailure) {
  TestVault vault;
  vault.add_layer(0, 8);
  StreamerOptions options = with_slots({2});
  options.read_timeout_ns = 2000 * kMs;
  options.readers = 1;
  const auto streamer =
      scripted(vault, options, [&](const ReadRequest& request, RecordFiles& real) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        return real.read(request);
      });
  take_all(*streamer, vault, experts(0, 0, 8), Pick::kFirst);
}

// D6, while running: the vault was whole when it was opened.
TEST_P(VaultOnDisk, ThatIsCutShortWhileRunningFailsWithTheByteWhereItEnds) {
  TestVault vault;
  vault.add_layer(0, 8);
  const VaultFile& file = vault.files()[0];
  for (const uint64_t left : {uint64_t{0}, uint64_t{4096}, uint64_t{4096 + 77}}) {
    for (const bool direct : {true, false}) {
      TestVault cut;
      cut.add_layer(0, 8);
      StreamerOptions options = with_slots({4});
      options.direct = direct;
      const auto streamer = opened(cut, options);
      const uint64_t end = file.info().offset_of(6) + left;
      std::filesystem::resize_file(cut.files()[0].path(), end);
      take_all(*streamer, cut, experts(0, 0, 6));
      streamer->demand(experts(0, 6, 7));
      const auto lease = streamer->next_ready(Pick::kAny);
      ASSERT_FALSE(lease);
      EXPECT_EQ(lease.error().code, Code::kCorrupt);
      EXPECT_THAT(lease.error().message,
                  HasSubstr("layer 0, expert 6: the file ends at byte " + std::to_string(end)));
    }
  }
}

TEST_P(VaultOnDisk, ThatIsDeletedWhileRunningIsReadToTheEnd) {
  TestVault vault;
  vault.add_layer(0, 8);
  const auto streamer = opened(vault, with_slots({2}));
  std::filesystem::remove(vault.files()[0].path());
  take_all(*streamer, vault, experts(0, 0, 8));
}

TEST_P(VaultOnDisk, ThatIsGoneBeforeOpenIsNamed) {
  TestVault vault;
  vault.add_layer(0, 8);
  std::filesystem::remove(vault.files()[0].path());
  const auto streamer = Streamer::open(vault.files(), with_slots({2}));
  ASSERT_FALSE(streamer);
  EXPECT_EQ(streamer.error().code, Code::kNotFound);
  EXPECT_THAT(streamer.error().message, HasSubstr("layer-00000.safetensors"));
}

}  // namespace
}  // namespace smoe
