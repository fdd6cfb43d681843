// Whole models on a GPU: the reference's logits and tokens, and the same bits for every ring,
// chunk, bet and batch. N1, N4.
#include <bit>

#include "devices/vulkan/gpu_rig.h"
#include "support/model_fixture.h"

namespace smoe::test {
namespace {

constexpr float kTolerance = 2e-3F;

float largest_gap(std::span<const float> a, std::span<const float> b) {
  EXPECT_EQ(a.size(), b.size());
  float largest = 0;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const float gap = std::fabs(a[i] - b[i]);
    if (!(gap <= largest)) largest = gap;  // NaN counts
  }
  return largest;
}

std::vector<float> logits_on(Device& device, const std::filesystem::path& folder,
                             std::span<const TokenId> prompt, EngineSettings settings = {}) {
  settings.device = &device;
  OpenModel model(folder, settings);
  std::vector<float> all;
  for (const auto& row : all_logits(model.engine(), prompt))
    all.insert(all.end(), row.begin(), row.end());
  return all;
}

class GpuGolden : public testing::TestWithParam<const char*> {
 protected:
  Reference reference_{golden_dir(GetParam()) / "golden.safetensors"};
  std::vector<TokenId> prompt_ = reference_.tokens("input_ids");
  std::filesystem::path folder_ = shattered(golden_dir(GetParam()));
};

TEST_P(GpuGolden, LogitsAndGreedyTokensEqualTheReference) {
  const float gap = largest_gap(logits_on(gpu(), folder_, prompt_), reference_.floats("logits"));
  EXPECT_LE(gap, kTolerance);
  std::printf("  %s: largest logit difference %.2e\n", GetParam(), static_cast<double>(gap));
  EngineSettings settings;
  settings.device = &gpu();
  OpenModel model(folder_, settings);
  const std::vector<TokenId> expected = reference_.tokens("greedy");
  EXPECT_EQ(greedy(model.engine(), prompt_, expected.size()), expected);
}

TEST_P(GpuGolden, BitsAreThoseOfEveryRingChunkAndBet) {
  const std::vector<float> expected = logits_on(gpu(), folder_, prompt_);
  for (const auto& [slots, chunk, bets] :
       {std::tuple{2U, 7U, false}, std::tuple{2U, 64U, true}, std::tuple{6U, 64U, false}}) {
    EngineSettings settings;
    settings.options.ring_slots = slots;
    settings.options.prompt_chunk = chunk;
    settings.options.bets = bets;
    EXPECT_TRUE(same_bits(logits_on(gpu(), folder_, prompt_, settings), expected))
        << "ring " << slots << ", chunk " << chunk << ", bets " << bets;
    EXPECT_TRUE(same_bits(logits_on(separate_gpu(), folder_, prompt_, settings), expected))
        << "with memory of its own, ring " << slots << ", chunk " << chunk;
  }
}

INSTANTIATE_TEST_SUITE_P(Families, GpuGolden,
                         testing::Values("qwen3_moe", "qwen3_moe_mixed", "qwen3_moe_fp8",
                                         "qwen2_moe", "deepseek_moe_v1", "olmoe", "mixtral"),
                         [](const auto& instance) { return std::string(instance.param); });

TEST(GpuModel, SequencesThatShareABatchGetTheirOwnBits) {
  const auto folder = shattered(golden_dir("qwen3_moe"));
  auto prompt = Reference(golden_dir("qwen3_moe") / "golden.safetensors").tokens("input_ids");
  prompt.resize(12);
  const std::vector<float> expected = logits_on(gpu(), folder, prompt);
  EngineSettings settings;
  settings.device = &gpu();
  settings.options.sequences = 2;
  OpenModel model(folder, settings);
  Engine& engine = model.engine();
  const size_t vocabulary = engine.spec().vocabulary;
  std::vector<SequenceId> sequences;
  for (int i = 0; i < 2; ++i) {
    sequences.push_back(*engine.kv().open_sequence());
    ASSERT_TRUE(engine.kv().extend(sequences.back(), 12));
  }
  // The second one starts three steps later.
  for (uint32_t step = 0; step < 15; ++step) {
    std::vector<BatchToken> batch;
    for (uint32_t i = 0; i < 2; ++i) {
      const uint32_t position = step - i * 3;
      if (step >= i * 3 && position < 12)
        batch.push_back({prompt[position], sequences[i], position, true});
    }
    Collector collector;
    ASSERT_TRUE(engine.step(batch, collector));
    for (size_t row = 0; row < batch.size(); ++row)
      ASSERT_TRUE(
          same_bits(collector.logits_of[row],
                    std::span(expected).subspan(batch[row].position * vocabulary, vocabulary)))
          << "step " << step << ", row " << row;
  }
}

TEST(GpuModel, RunsTheDemoModelInABlockFormat) {
  const auto folder = shattered(tales_dir(), Format::kQ8_0);
  auto prompt = Reference(tales_dir() / "reference/golden.safetensors").tokens("input_ids");
  prompt.resize(20);
  const std::vector<float> found = logits_on(gpu(), folder, prompt);
  // The exact weights on the CPU: eight bits of a weight move a logit little, and a router's choice
  // between two equal experts now and then.
  OpenModel cpu(shattered(tales_dir()), {});
  std::vector<float> expected;
  for (const auto& row : all_logits(cpu.engine(), prompt))
    expected.insert(expected.end(), row.begin(), row.end());
  ASSERT_EQ(found.size(), expected.size());
  double errors = 0;
  double squares = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    errors += std::pow(double{found[i]} - double{expected[i]}, 2);
    squares += std::pow(double{expected[i]}, 2);
  }
  EXPECT_LE(std::sqrt(errors / squares), 0.03);
}

// Run by itself under the validation layer: one pass with every kind of operation.
TEST(GpuValidation, APromptAndAFewTokensOnBothKindsOfMemory) {
  const auto folder = shattered(golden_dir("qwen3_moe"));
  auto prompt = Reference(golden_dir("qwen3_moe") / "golden.safetensors").tokens("input_ids");
  prompt.resize(10);
  for (Device* device : {&gpu(), &separate_gpu()}) {
    EngineSettings settings;
    settings.device = device;
    settings.options.ring_slots = 4;
    settings.options.bets = true;
    OpenModel model(folder, settings);
    EXPECT_EQ(greedy(model.engine(), prompt, 3).size(), 3U);
  }
}

}  // namespace
}  // namespace smoe::test
