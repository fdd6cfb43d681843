// Many threads at the same words. Run under ThreadSanitizer for what it is worth. K3.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/rng.h"
#include "stream/slot.h"
#include "stream/streamer.h"
#include "stream/vault_fixture.h"

namespace smoe {
namespace {

using test::TestVault;

constexpr uint32_t kSlots = 8;
constexpr uint32_t kExperts = 24;
constexpr uint32_t kClaimers = 4;
constexpr uint32_t kLoaders = 4;
constexpr uint64_t kOperations = 1'000'000 / (kClaimers + kLoaders);

// SMOE_STRESS_SECONDS makes each test here go on for that long: ten minutes under ThreadSanitizer
// are two tests of 300.
class StressClock {
 public:
  bool goes_on() const { return seconds_between(began_ns_, now_ns()) < seconds_; }

 private:
  static double wanted() {
    const char* text = std::getenv("SMOE_STRESS_SECONDS");
    return text == nullptr ? 0 : std::strtod(text, nullptr);
  }
  const uint64_t began_ns_ = now_ns();
  const double seconds_ = wanted();
};

// A ring without its book: loaders take any slot that the machine gives them, claimers try to pin
// any record in any slot.
struct BareRing {
  std::array<SlotWord, kSlots> words;
  // Written and read without atomics, so that ThreadSanitizer sees a missing order.
  std::array<std::array<uint64_t, 16>, kSlots> bytes{};
};

uint64_t load_records(BareRing& ring, uint64_t seed) {
  Rng rng(seed);
  uint64_t loads = 0;
  const StressClock clock;
  for (uint64_t i = 0; i < kOperations || (i % 1024 != 0 || clock.goes_on()); ++i) {
    const auto slot = rng.below(kSlots);
    const ExpertKey key = test::key(0, static_cast<uint32_t>(rng.below(kExperts)));
    const auto reserved = ring.words[slot].apply(Event::kReserve, key);
    if (!reserved || !ring.words[slot].apply_to(*reserved, Event::kStart)) continue;
    ring.bytes[slot].fill(static_cast<uint64_t>(key.expert));
    const bool failed = rng.below(8) == 0;
    EXPECT_TRUE(ring.words[slot].apply(failed ? Event::kFail : Event::kFill, key));
    ++loads;
  }
  return loads;
}

uint64_t claim_records(BareRing& ring, uint64_t seed, uint64_t& wrong) {
  Rng rng(seed);
  uint64_t claims = 0;
  const StressClock clock;
  for (uint64_t i = 0; i < kOperations || (i % 1024 != 0 || clock.goes_on()); ++i) {
    const auto slot = rng.below(kSlots);
    const Slot seen = ring.words[slot].load();
    if (!ring.words[slot].apply(Event::kPin, seen.key)) continue;
    for (const uint64_t word : ring.bytes[slot])
      if (word != static_cast<uint64_t>(seen.key.expert)) ++wrong;
    EXPECT_TRUE(ring.words[slot].apply(Event::kUnpin, seen.key));
    ++claims;
  }
  return claims;
}

TEST(SlotStress, NeverShowsAClaimerAnotherRecordsBytes) {
  BareRing ring;
  std::vector<std::thread> threads;
  std::array<uint64_t, kClaimers> wrong{};
  std::atomic<uint64_t> loads{0}, claims{0};
  for (uint32_t i = 0; i < kLoaders; ++i)
    threads.emplace_back([&, i] { loads += load_records(ring, 100 + i); });
  for (uint32_t i = 0; i < kClaimers; ++i)
    threads.emplace_back([&, i] { claims += claim_records(ring, 200 + i, wrong[i]); });
  for (std::thread& thread : threads) thread.join();
  for (const uint64_t count : wrong) EXPECT_EQ(count, 0U);
  EXPECT_GT(loads, 1000U);
  EXPECT_GT(claims, 1000U);
}

SMOE_FOR_EVERY_ENGINE(StreamerStress);

TEST_P(StreamerStress, LendsRightBytesWithManyReadersAndSomeoneWhoCancels) {
  TestVault vault;
  vault.add_layer(0, 48).add_layer(1, 16, 64);
  StreamerOptions options = with_slots({12, 5});
  options.readers = 8;
  options.verify = Verify::kNever;  // the test compares all bytes
  options.read_timeout_ns = 10'000'000'000;
  const auto streamer = test::opened(vault, options);
  std::atomic<bool> done{false};
  std::thread canceller([&] {
    while (!done) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      streamer->cancel();
      static_cast<void>(streamer->stats());
    }
  });
  std::vector<ExpertKey> keys = test::experts(0, 0, 48);
  for (const ExpertKey one : test::experts(1, 0, 16)) keys.push_back(one);
  Rng rng(3);
  uint64_t lent = 0;
  uint64_t cancelled = 0;
  const StressClock clock;
  const uint64_t full = streamer->memory().size();
  while (lent < 4000 || clock.goes_on()) {
    // The ring gives way meanwhile.
    streamer->limit_ring(rng.below(4) == 0 ? full : rng.below(full));
    std::shuffle(keys.begin(), keys.end(), std::minstd_rand(static_cast<unsigned>(rng.next())));
    streamer->demand(std::span(keys).first(1 + rng.below(30)));
    streamer->bet(std::span(keys).last(6));
    while (streamer->outstanding() > 0) {
      const auto lease = streamer->next_ready(Streamer::Pick::kAny);
      if (!lease) {
        ASSERT_EQ(lease.error().code, Code::kCancelled);
        ++cancelled;
        streamer->abandon();
        streamer->clear_cancel();
        break;
      }
      ASSERT_TRUE(vault.holds(*lease));
      ++lent;
    }
  }
  done = true;
  canceller.join();
  EXPECT_GT(cancelled, 0U);
}

}  // namespace
}  // namespace smoe
