#include "cli/divergence.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace smoe::cli {
namespace {

TEST(Divergence, OfAModelFromItselfIsNothing) {
  const std::array<float, 3> logits = {1, 2, 3};
  Divergence divergence;
  for (uint32_t next = 0; next < 3; ++next) divergence.add(logits, logits, TokenId{next});
  EXPECT_EQ(divergence.mean(), 0);
  EXPECT_EQ(divergence.quantile(0.99), 0);
  EXPECT_EQ(divergence.agreement(), 1);
  EXPECT_EQ(divergence.perplexity(), divergence.reference_perplexity());
}

// Probabilities of 1/2 and 1/2 where the reference has 1/4 and 3/4.
TEST(Divergence, IsCountedFromTheReferenceInNats) {
  const std::array<float, 2> model = {5, 5};
  const std::array<float, 2> reference = {0, std::log(3.0F)};
  Divergence divergence;
  divergence.add(model, reference, TokenId{1});
  EXPECT_NEAR(divergence.mean(), 0.25 * std::log(0.5) + 0.75 * std::log(1.5), 1e-6);
  EXPECT_NEAR(divergence.perplexity(), 2, 1e-9);
  EXPECT_NEAR(divergence.reference_perplexity(), 4.0 / 3, 1e-6);
  EXPECT_EQ(divergence.agreement(), 0);
}

TEST(Divergence, HasTheQuantileOfItsPositions) {
  const std::array<float, 2> even = {0, 0};
  Divergence divergence;
  for (int i = 0; i < 99; ++i) divergence.add(even, even, TokenId{0});
  EXPECT_EQ(divergence.quantile(0.5), 0);
  const std::array<float, 2> sure = {0, 50};
  divergence.add(even, sure, TokenId{0});
  EXPECT_NEAR(divergence.quantile(0.99), std::log(2), 1e-9);
  EXPECT_NEAR(divergence.mean(), std::log(2) / 100, 1e-9);
}

}  // namespace
}  // namespace smoe::cli
