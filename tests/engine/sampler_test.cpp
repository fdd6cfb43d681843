#include "engine/sampler.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <map>

namespace smoe {
namespace {

constexpr std::array<TokenId, 20000> kHistory{};
const std::span<const TokenId> kNoHistory(kHistory.data(), 0);

// Nothing that is repeated is penalised in most tests, so that only its length counts.
std::span<const TokenId> history_of(size_t length) { return std::span(kHistory).first(length); }

SamplerOptions plain() {
  SamplerOptions options;
  options.temperature = 1;
  options.top_k = 0;
  options.top_p = 1;
  options.min_p = 0;
  return options;
}

uint32_t drawn(Sampler& sampler, const std::vector<float>& logits,
               std::span<const TokenId> history = kNoHistory) {
  const auto token = sampler.sample(logits, history);
  EXPECT_TRUE(token);
  return token ? static_cast<uint32_t>(*token) : UINT32_MAX;
}

std::map<uint32_t, double> shares(const SamplerOptions& options, const std::vector<float>& logits,
                                  int draws = 20000) {
  const auto size = static_cast<uint32_t>(logits.size());
  SamplerWork sampler_work;
  Sampler sampler(options, size, size, sampler_work);
  std::map<uint32_t, double> result;
  for (int i = 0; i < draws; ++i)
    result[drawn(sampler, logits, history_of(static_cast<size_t>(i)))] += 1.0 / draws;
  return result;
}

TEST(Sampler, IsGreedyBelowTheSmallestTemperatureAndGivesTiesToTheLowerId) {
  SamplerOptions options = plain();
  options.temperature = 0.00009F;
  SamplerWork sampler_work;
  Sampler sampler(options, 4, 4, sampler_work);
  EXPECT_EQ(drawn(sampler, {1, 5, 5, 2}), 1U);
}

TEST(Sampler, DrawsInProportionToTheSoftmax) {
  const auto result = shares(plain(), {std::log(1.0F), std::log(2.0F), std::log(5.0F)});
  EXPECT_NEAR(result.at(0), 0.125, 0.02);
  EXPECT_NEAR(result.at(1), 0.25, 0.02);
  EXPECT_NEAR(result.at(2), 0.625, 0.02);
}

TEST(Sampler, SharpensWithALowTemperature) {
  SamplerOptions options = plain();
  options.temperature = 0.5F;
  const auto result = shares(options, {std::log(1.0F), std::log(2.0F)});
  EXPECT_NEAR(result.at(1), 0.8, 0.02);  // 4 : 1
}

TEST(Sampler, GivesTheSameTokensForTheSameSeedAndOthersForAnother) {
  const std::vector<float> logits(50, 0.0F);
  const auto run = [&](uint64_t seed) {
    SamplerOptions options = plain();
    options.seed = seed;
    SamplerWork sampler_work;
    Sampler sampler(options, 50, 50, sampler_work);
    std::vector<uint32_t> tokens;
    for (size_t i = 0; i < 20; ++i) tokens.push_back(drawn(sampler, logits, history_of(i)));
    return tokens;
  };
  EXPECT_EQ(run(1), run(1));
  EXPECT_NE(run(1), run(2));
}

TEST(Sampler, DrawsTheSameAtAPositionWhateverWasDrawnBefore) {
  const std::vector<float> logits(1000, 0.0F);
  SamplerWork sampler_work;
  Sampler sampler(plain(), 1000, 1000, sampler_work);
  const uint32_t fifth = drawn(sampler, logits, history_of(5));
  EXPECT_NE(drawn(sampler, logits, history_of(6)), fifth);
  EXPECT_EQ(drawn(sampler, logits, history_of(5)), fifth);
}

TEST(Sampler, AddsBiasesAndPassesOverUnknownTokens) {
  SamplerOptions options = plain();
  options.temperature = 0;
  options.logit_bias = {{TokenId{2}, 5.0F}, {TokenId{0}, -100.0F}, {TokenId{77}, 9.0F}};
  SamplerWork sampler_work;
  Sampler sampler(options, 3, 3, sampler_work);
  EXPECT_EQ(drawn(sampler, {9.0F, 4.0F, 0.0F}), 2U);
}

TEST(Sampler, DrawsOnlyWhatIsAllowed) {
  const std::vector<float> logits(70, 0.0F);
  const std::array<uint64_t, 2> allowed = {uint64_t{1} << 3U, uint64_t{1} << 5U};
  SamplerOptions options = plain();
  for (const uint32_t top_k : {0U, 1U, 40U}) {
    options.top_k = top_k;
    SamplerWork sampler_work;
    Sampler sampler(options, 70, 70, sampler_work);
    for (size_t i = 0; i < 200; ++i) {
      const auto token = sampler.sample(logits, history_of(i), allowed);
      ASSERT_TRUE(token);
      EXPECT_TRUE(*token == TokenId{3} || *token == TokenId{69}) << index_of(*token);
    }
  }
  options.temperature = 0;
  SamplerWork greedy_work;
  Sampler greedy(options, 70, 70, greedy_work);
  EXPECT_EQ(*greedy.sample(logits, kNoHistory, allowed), TokenId{3});
}

TEST(Sampler, KeepsTheKMostLikely) {
  SamplerOptions options = plain();
  options.top_k = 2;
  const auto result = shares(options, {0, 1, 2, 0.5F}, 2000);
  EXPECT_EQ(result.size(), 2U);
  EXPECT_TRUE(result.contains(1) && result.contains(2));
}

TEST(Sampler, KeepsTheSmallestSetThatReachesTopP) {
  SamplerOptions options = plain();
  options.top_p = 0.6F;  // 0.5 + 0.3 reaches it, 0.5 alone does not
  const auto result = shares(options, {std::log(0.5F), std::log(0.3F), std::log(0.2F)}, 2000);
  EXPECT_EQ(result.size(), 2U);
  EXPECT_FALSE(result.contains(2));
}

TEST(Sampler, KeepsWhatIsAtLeastMinPOfTheBest) {
  SamplerOptions options = plain();
  options.min_p = 0.5F;
  const auto result = shares(options, {std::log(0.5F), std::log(0.3F), std::log(0.2F)}, 2000);
  EXPECT_EQ(result.size(), 2U);
}

TEST(Sampler, AlwaysKeepsTheBestHoweverStrictTheLimits) {
  SamplerOptions options = plain();
  options.top_p = 0.0F;
  options.min_p = 1.0F;
  const auto result = shares(options, {0, 3, 1}, 200);
  EXPECT_EQ(result.size(), 1U);
  EXPECT_TRUE(result.contains(1));
}

TEST(Sampler, DividesPositiveAndMultipliesNegativeLogitsOfRepeatedTokens) {
  SamplerOptions options = plain();
  options.temperature = 0;
  options.repeat_penalty = 2;
  SamplerWork sampler_work;
  Sampler sampler(options, 3, 3, sampler_work);
  const TokenId history[] = {TokenId{0}, TokenId{0}};
  EXPECT_EQ(drawn(sampler, {3.0F, 1.6F, 1.0F}, history), 1U);     // 3 / 2 < 1.6, once for both
  EXPECT_EQ(drawn(sampler, {-1.0F, -1.5F, -9.0F}, history), 1U);  // -1 * 2 < -1.5
}

TEST(Sampler, SubtractsPresenceOnceAndFrequencyForEachOccurrence) {
  SamplerOptions options = plain();
  options.temperature = 0;
  options.presence_penalty = 1;
  options.frequency_penalty = 0.5F;
  SamplerWork sampler_work;
  Sampler sampler(options, 3, 3, sampler_work);
  const TokenId twice[] = {TokenId{0}, TokenId{2}, TokenId{0}};
  EXPECT_EQ(drawn(sampler, {3.0F, 1.1F, 0.0F}, twice), 1U);  // 3 - 1 - 2 * 0.5 = 1 < 1.1
  EXPECT_EQ(drawn(sampler, {3.2F, 1.1F, 0.0F}, twice), 0U);
}

TEST(Sampler, LooksBackNoFurtherThanAsked) {
  SamplerOptions options = plain();
  options.temperature = 0;
  options.repeat_penalty = 10;
  options.repeat_last = 2;
  SamplerWork sampler_work;
  Sampler sampler(options, 3, 3, sampler_work);
  const TokenId history[] = {TokenId{0}, TokenId{1}, TokenId{2}};
  EXPECT_EQ(drawn(sampler, {1.0F, 2.0F, 3.0F}, history), 0U);
}

// Trap 6: the head has more rows than the tokenizer has entries.
TEST(Sampler, NeverDrawsAnIdBeyondTheTokenizer) {
  std::vector<float> logits(10, 0.0F);
  logits[8] = logits[9] = 50.0F;
  SamplerWork sampler_work;
  Sampler sampler(plain(), 10, 8, sampler_work);
  for (size_t i = 0; i < 10000; ++i) ASSERT_LT(drawn(sampler, logits, history_of(i)), 8U);
}

// N3, trap 35.
TEST(Sampler, RefusesLogitsThatAreNotFinite) {
  SamplerWork sampler_work;
  Sampler sampler(plain(), 2, 2, sampler_work);
  const std::vector<float> logits = {0, std::numeric_limits<float>::quiet_NaN()};
  const auto token = sampler.sample(logits, kNoHistory);
  ASSERT_FALSE(token);
  EXPECT_EQ(token.error().code, Code::kNumeric);
}

}  // namespace
}  // namespace smoe
