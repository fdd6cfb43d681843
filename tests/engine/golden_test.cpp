// Logits, hidden states and greedy tokens of the reference implementation
// (tests/data/golden/README.md, models/tales/README.md). N1.
#include <gtest/gtest.h>

#include <cmath>

#include "support/model_fixture.h"

namespace smoe::test {
namespace {

struct Case {
  const char* name;
  float tolerance;
};

// qwen3_moe_mixed has logits three times larger than the others.
constexpr Case kCases[] = {
    {"qwen3_moe", 1e-4F}, {"qwen3_moe_mixed", 5e-4F}, {"qwen3_moe_fp8", 1e-4F},
    {"qwen2_moe", 1e-4F}, {"deepseek_moe_v1", 1e-4F}, {"olmoe", 1e-4F},
    {"mixtral", 1e-4F},
};

float largest_difference(std::span<const float> a, std::span<const float> b) {
  EXPECT_EQ(a.size(), b.size());
  float largest = 0;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const float difference = std::fabs(a[i] - b[i]);
    if (!(difference <= largest)) largest = difference;  // NaN counts as a difference
  }
  return largest;
}

class Golden : public testing::TestWithParam<std::tuple<Case, bool>> {
 protected:
  Golden()
      : reference_(golden_dir(test_case().name) / "golden.safetensors"),
        prompt_(reference_.tokens("input_ids")),
        model_(shattered(golden_dir(test_case().name)), settings()) {}

  static Case test_case() { return std::get<0>(GetParam()); }
  static EngineSettings settings() {
    EngineSettings settings;
    settings.portable = std::get<1>(GetParam());
    return settings;
  }

  Reference reference_;
  std::vector<TokenId> prompt_;
  OpenModel model_;
};

TEST_P(Golden, LogitsAndHiddenStatesEqualTheReference) {
  Session session = model_.session();
  Collector collector(true);
  ASSERT_TRUE(session.score(prompt_, collector, [](size_t, size_t) {}));

  std::vector<float> logits;
  for (const auto& row : collector.logits_of) logits.insert(logits.end(), row.begin(), row.end());
  const float logit_difference = largest_difference(logits, reference_.floats("logits"));
  EXPECT_LE(logit_difference, test_case().tolerance);
  RecordProperty("largest_logit_difference", std::to_string(logit_difference));
  std::printf("  %s: largest logit difference %.2e\n", test_case().name,
              static_cast<double>(logit_difference));

  const auto layers = static_cast<uint32_t>(model_.engine().spec().layers.size());
  for (uint32_t layer = 0; layer <= layers; ++layer) {
    const float difference = largest_difference(
        collector.hidden_of[layer], reference_.floats("hidden." + std::to_string(layer)));
    EXPECT_LE(difference, test_case().tolerance) << "hidden state " << layer;
  }
}

TEST_P(Golden, GreedyTokensEqualTheReference) {
  const std::vector<TokenId> expected = reference_.tokens("greedy");
  EXPECT_EQ(greedy(model_.engine(), prompt_, expected.size()), expected);
}

INSTANTIATE_TEST_SUITE_P(Families, Golden,
                         testing::Combine(testing::ValuesIn(kCases), testing::Bool()),
                         [](const auto& instance) {
                           return std::string(std::get<0>(instance.param).name) +
                                  (std::get<1>(instance.param) ? "_portable" : "_best");
                         });

class Tales : public testing::Test {
 protected:
  Reference reference_{tales_dir() / "reference/golden.safetensors"};
  OpenModel model_{shattered(tales_dir()), {}};
};

TEST_F(Tales, LogitsEqualTheReference) {
  const std::vector<TokenId> prompt = reference_.tokens("input_ids");
  const auto logits = all_logits(model_.engine(), prompt);
  ASSERT_EQ(logits.size(), prompt.size());

  const std::vector<TokenId> top_ids = reference_.tokens("top_ids");
  const std::vector<float> top_logits = reference_.floats("top_logits");
  const std::vector<float> log_sums = reference_.floats("logsumexp");
  const size_t kept = top_ids.size() / prompt.size();
  float largest = 0;
  for (size_t position = 0; position < prompt.size(); ++position) {
    double sum = 0;
    for (const float logit : logits[position]) sum += std::exp(static_cast<double>(logit));
    largest = std::max(largest, std::fabs(static_cast<float>(std::log(sum)) - log_sums[position]));
    for (size_t i = 0; i < kept; ++i) {
      const size_t entry = position * kept + i;
      largest = std::max(largest,
                         std::fabs(logits[position][index_of(top_ids[entry])] - top_logits[entry]));
    }
  }
  largest = std::max(largest, largest_difference(logits.back(), reference_.floats("logits_last")));
  std::printf("  tales: largest difference %.2e\n", static_cast<double>(largest));
  EXPECT_LE(largest, 5e-4F);
}

TEST_F(Tales, GreedyTokensEqualTheReference) {
  std::vector<TokenId> prompt = reference_.tokens("input_ids");
  prompt.resize(64);
  const std::vector<TokenId> expected = reference_.tokens("greedy_from_64");
  ASSERT_EQ(expected.size(), 96U);
  EXPECT_EQ(greedy(model_.engine(), prompt, expected.size()), expected);
}

}  // namespace
}  // namespace smoe::test
