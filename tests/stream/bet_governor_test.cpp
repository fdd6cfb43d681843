#include "stream/bet_governor.h"

#include <gtest/gtest.h>

namespace smoe {
namespace {

// Share of visits at which bets were allowed, when a visit waits so long with and without them.
double allowed(uint64_t with_ns, uint64_t without_ns, uint32_t turns) {
  BetGovernor governor;
  uint32_t with = 0;
  const uint32_t visits = turns * BetGovernor::kTurnVisits;
  for (uint32_t i = 0; i < visits; ++i) {
    with += governor.allows() ? 1 : 0;
    governor.visited(governor.allows() ? with_ns : without_ns);
  }
  return static_cast<double>(with) / visits;
}

TEST(BetGovernor, LetsBetsRunWhileTheySaveWaiting) { EXPECT_GT(allowed(100, 200, 200), 0.9); }

TEST(BetGovernor, StopsBetsWhileTheyCostWaiting) { EXPECT_LT(allowed(200, 100, 200), 0.1); }

TEST(BetGovernor, TriesTheOtherWayNowAndThen) {
  EXPECT_LT(allowed(100, 200, 200), 1.0);
  EXPECT_GT(allowed(200, 100, 200), 0.0);
}

TEST(BetGovernor, ChangesItsMindWhenTheDiskDoes) {
  BetGovernor governor;
  const auto run = [&](uint64_t with_ns, uint64_t without_ns) {
    for (uint32_t i = 0; i < 60 * BetGovernor::kTurnVisits; ++i)
      governor.visited(governor.allows() ? with_ns : without_ns);
    return governor.allows();
  };
  EXPECT_TRUE(run(100, 200));
  EXPECT_FALSE(run(300, 200));
  EXPECT_TRUE(run(100, 200));
}

TEST(BetGovernor, AllowsBetsWhereNothingEverWaits) { EXPECT_GT(allowed(0, 0, 200), 0.9); }

}  // namespace
}  // namespace smoe
