#include "base/rng.h"

#include <gtest/gtest.h>

namespace smoe {
namespace {

TEST(Rng, GivesTheSameNumbersForTheSameSeedOnEveryMachine) {
  // xoshiro256** seeded by SplitMix64, computed apart from this code.
  Rng rng(42);
  EXPECT_EQ(rng.next(), 1546998764402558742U);
  EXPECT_EQ(rng.next(), 6990951692964543102U);
  EXPECT_EQ(rng.next(), 12544586762248559009U);
  EXPECT_NE(Rng(43).next(), Rng(42).next());
}

TEST(Rng, DrawsUniformlyBelowOne) {
  Rng rng(7);
  double sum = 0;
  for (int i = 0; i < 10000; ++i) {
    const double value = rng.uniform();
    ASSERT_GE(value, 0);
    ASSERT_LT(value, 1);
    sum += value;
  }
  EXPECT_NEAR(sum / 10000, 0.5, 0.02);
}

TEST(Rng, CountsNumbersBySeedAndPosition) {
  EXPECT_EQ(counted_uniform(7, 3), counted_uniform(7, 3));
  double sum = 0;
  for (uint64_t i = 0; i < 10000; ++i) {
    const double value = counted_uniform(i % 100, i / 100);
    ASSERT_GE(value, 0);
    ASSERT_LT(value, 1);
    sum += value;
  }
  EXPECT_NEAR(sum / 10000, 0.5, 0.01);
  EXPECT_NE(counted_uniform(1, 2), counted_uniform(2, 1));
  EXPECT_NE(counted_uniform(0, 1), counted_uniform(1, 0));
}

TEST(Rng, StaysBelowTheBound) {
  Rng rng(1);
  EXPECT_EQ(rng.below(0), 0U);
  EXPECT_EQ(rng.below(1), 0U);
  for (int i = 0; i < 1000; ++i) ASSERT_LT(rng.below(3), 3U);
}

}  // namespace
}  // namespace smoe
