#include "engine/router.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/floats.h"

namespace smoe {
namespace {

FfnSpec experts(uint32_t count, uint32_t active, Score score, bool renormalize) {
  FfnSpec ffn;
  ffn.kind = FfnKind::kExperts;
  ffn.experts = count;
  ffn.router.active_experts = active;
  ffn.router.score = score;
  ffn.router.renormalize = renormalize;
  return ffn;
}

struct Routed {
  Routing routing;
  RouterWork work;
};

Routed routed(const FfnSpec& ffn, const std::vector<float>& logits) {
  Routed result;
  EXPECT_TRUE(route(ffn, logits, result.routing, result.work));
  return result;
}

// Trap 26: softmax over all experts, then gather; divided by the kept sum only when the model says
// so.
TEST(Router, TakesTheSoftmaxOverAllExpertsAndKeepsItsValuesWhenNotRenormalised) {
  const std::vector<float> logits = {0.5F, 2.0F, -1.0F, 1.0F};
  const auto [routing, work] = routed(experts(4, 2, Score::kSoftmaxThenTopK, false), logits);
  const double sum = std::exp(0.5) + std::exp(2.0) + std::exp(-1.0) + std::exp(1.0);
  EXPECT_EQ(routing.experts, (std::vector<uint16_t>{1, 3}));
  EXPECT_NEAR(routing.weights[0], std::exp(2.0) / sum, 1e-6);
  EXPECT_NEAR(routing.weights[1], std::exp(1.0) / sum, 1e-6);
}

TEST(Router, RenormalisesTheKeptWeightsToOne) {
  const std::vector<float> logits = {0.5F, 2.0F, -1.0F, 1.0F};
  const auto [routing, work] = routed(experts(4, 2, Score::kSoftmaxThenTopK, true), logits);
  EXPECT_NEAR(routing.weights[0], std::exp(2.0) / (std::exp(2.0) + std::exp(1.0)), 1e-6);
  EXPECT_NEAR(routing.weights[0] + routing.weights[1], 1.0, 1e-6);
}

TEST(Router, GivesTopKThenSoftmaxTheSameWeightsAsRenormalisation) {
  const std::vector<float> logits = {0.5F, 2.0F, -1.0F, 1.0F};
  const auto [a, work_a] = routed(experts(4, 3, Score::kSoftmaxThenTopK, true), logits);
  const auto [b, work_b] = routed(experts(4, 3, Score::kTopKThenSoftmax, false), logits);
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(a.weights[i], b.weights[i], 1e-6);
}

TEST(Router, WeighsASingleExpertByItsProbabilityOrByOne) {
  const std::vector<float> logits = {0.0F, 1.0F};
  const auto [plain, work_a] = routed(experts(2, 1, Score::kSoftmaxThenTopK, false), logits);
  const auto [renormalised, work_b] = routed(experts(2, 1, Score::kSoftmaxThenTopK, true), logits);
  EXPECT_NEAR(plain.weights[0], 1 / (1 + std::exp(-1.0)), 1e-6);
  EXPECT_FLOAT_EQ(renormalised.weights[0], 1.0F);
}

// Trap 27: logits one bf16 step apart at the rank that decides are told apart.
TEST(Router, TellsLogitsApartThatDifferByLessThanABf16Step) {
  const float base = bf16_to_float(0x3f80);
  const std::vector<float> logits = {base, std::nextafter(base, 2.0F), -3.0F};
  const auto [routing, work] = routed(experts(3, 1, Score::kSoftmaxThenTopK, true), logits);
  EXPECT_EQ(routing.experts[0], 1);
}

TEST(Router, GivesTiesToTheLowerIndex) {
  const std::vector<float> logits = {1.0F, 3.0F, 3.0F, 3.0F, 1.0F};
  const auto [routing, work] = routed(experts(5, 4, Score::kSoftmaxThenTopK, true), logits);
  EXPECT_EQ(routing.experts, (std::vector<uint16_t>{1, 2, 3, 0}));
}

TEST(Router, SurvivesLogitsThatWouldOverflowAnExponential) {
  const std::vector<float> logits = {3e38F, -3e38F, 1e38F};
  const auto [routing, work] = routed(experts(3, 2, Score::kSoftmaxThenTopK, true), logits);
  EXPECT_FLOAT_EQ(routing.weights[0], 1.0F);
  EXPECT_FLOAT_EQ(routing.weights[1], 0.0F);
}

TEST(Router, GroupsRowsByExpertInAscendingOrder) {
  const std::vector<float> logits = {9, 0, 8, 0,  //
                                     0, 0, 9, 8,  //
                                     8, 0, 9, 0};
  const auto [routing, work] = routed(experts(4, 2, Score::kSoftmaxThenTopK, true), logits);
  ASSERT_EQ(routing.members.size(), 3U);
  EXPECT_EQ(routing.members[0].expert, 0);
  EXPECT_EQ(routing.members[1].expert, 2);
  EXPECT_EQ(routing.members[2].expert, 3);
  const auto rows = routing.rows_of(routing.members[1]);
  EXPECT_EQ(std::vector<uint32_t>(rows.begin(), rows.end()), (std::vector<uint32_t>{0, 1, 2}));
  EXPECT_LT(routing.weights_of(routing.members[1])[0], 0.5F);
  EXPECT_GT(routing.weights_of(routing.members[1])[1], 0.5F);
}

// N3: a logit that is no number ends the step instead of choosing some expert.
TEST(Router, RefusesLogitsThatAreNotFinite) {
  Routing routing;
  RouterWork work;
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    const std::vector<float> logits = {0, 1, 2, bad};
    const Status status =
        route(experts(2, 1, Score::kSoftmaxThenTopK, true), logits, routing, work);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, Code::kNumeric);
    EXPECT_NE(status.error().message.find("row 1"), std::string::npos) << status.error().message;
  }
}

TEST(RouterSummary, AddsTheTokensProbabilitiesAndRanksAllExperts) {
  const std::vector<float> logits = {0.5F, 2.0F, -1.0F, 1.0F, 3.0F, 0.0F, 0.0F, 0.0F};
  Routing routing;
  routing.summarize = true;
  RouterWork work;
  ASSERT_TRUE(route(experts(4, 2, Score::kTopKThenSoftmax, true), logits, routing, work));
  const RouterNumbers numbers = routing.numbers();
  EXPECT_EQ(numbers.tokens, 2U);
  EXPECT_EQ(numbers.active, 2U);
  const double first = std::exp(0.5) + std::exp(2.0) + std::exp(-1.0) + std::exp(1.0);
  const double second = std::exp(3.0) + 3;
  EXPECT_NEAR(numbers.probabilities[0], std::exp(0.5) / first + std::exp(3.0) / second, 1e-6);
  EXPECT_NEAR(numbers.probabilities[2], std::exp(-1.0) / first + 1 / second, 1e-6);
  EXPECT_EQ(std::vector<uint16_t>(numbers.ranks.begin(), numbers.ranks.end()),
            (std::vector<uint16_t>{0, 1, 3, 2}));
}

TEST(RouterSummary, IsEmptyWhereNobodyAsksForIt) {
  const auto [routing, work] =
      routed(experts(4, 2, Score::kTopKThenSoftmax, true), {0.5F, 2.0F, -1.0F, 1.0F});
  EXPECT_TRUE(routing.numbers().probabilities.empty());
  EXPECT_TRUE(routing.numbers().ranks.empty());
}

}  // namespace
}  // namespace smoe
