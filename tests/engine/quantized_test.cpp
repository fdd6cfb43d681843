// Models whose weights are in blocks: the demo model in a format of each kind. Its rows of 256 fill
// all blocks; those of 32 (expert_down) take the stand-ins, Q8_0 and Q5_0.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <fstream>
#include <sstream>

#include "support/model_fixture.h"
#include "text/tokenizer.h"

namespace smoe::test {
namespace {

constexpr size_t kWindow = 512;
constexpr size_t kWindows = 1;  // of the reference's text; all 23 take a minute

struct QuantizedCase {
  Format format;
  double most;  // perplexity against that of the exact weights
};
constexpr QuantizedCase kQuantizedCases[] = {
    {Format::kQ6_K, 1.02}, {Format::kQ4_K, 1.05}, {Format::kQ4_0, 1.07}, {Format::kMXFP4, 1.15}};

std::vector<TokenId> eval_tokens() {
  std::ifstream file(tales_dir() / "reference/eval.txt", std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  const auto tokenizer = Tokenizer::load(tales_dir());
  EXPECT_TRUE(tokenizer);
  return tokenizer->encode(text.str()).value();
}

// As smoe eval counts it: each token of a window from its second on.
double perplexity(const std::filesystem::path& folder, std::span<const TokenId> tokens) {
  OpenModel model(folder, {});
  double total = 0;
  size_t scored = 0;
  for (size_t begin = 0; begin < tokens.size(); begin += kWindow) {
    const auto window = tokens.subspan(begin, std::min(kWindow, tokens.size() - begin));
    const auto logits = all_logits(model.engine(), window);
    for (size_t i = 0; i + 1 < window.size(); ++i, ++scored) {
      double sum = 0;
      for (const float logit : logits[i]) sum += std::exp(static_cast<double>(logit));
      total += std::log(sum) - static_cast<double>(logits[i][index_of(window[i + 1])]);
    }
  }
  return std::exp(total / static_cast<double>(scored));
}

std::vector<uint32_t> bits(const std::filesystem::path& folder, const EngineSettings& settings,
                           std::span<const TokenId> tokens) {
  OpenModel model(folder, settings);
  std::vector<uint32_t> all;
  for (const auto& row : all_logits(model.engine(), tokens))
    for (const float value : row) all.push_back(std::bit_cast<uint32_t>(value));
  return all;
}

class Quantized : public testing::TestWithParam<QuantizedCase> {
 protected:
  std::filesystem::path folder_ = shattered(tales_dir(), GetParam().format);
};

TEST_P(Quantized, PerplexityIsNearThatOfTheExactWeights) {
  const std::vector<TokenId> tokens = eval_tokens();
  const auto text = std::span(tokens).first(std::min(tokens.size(), kWindows * kWindow));
  static const double exact = perplexity(shattered(tales_dir()), text);
  const double found = perplexity(folder_, text);
  std::printf("  %s: perplexity %.4f, exact %.4f\n",
              std::string(info(GetParam().format).name).c_str(), found, exact);
  EXPECT_LE(found, exact * GetParam().most);
  EXPECT_GE(found, exact * 0.97);
}

// N4, for formats of blocks.
TEST_P(Quantized, BitsAreTheSameForEveryKernelSetRingChunkAndThreadCount) {
  const std::vector<TokenId> tokens = eval_tokens();
  const auto prompt = std::span(tokens).first(20);
  EngineSettings portable;
  portable.portable = true;
  portable.threads = 1;
  const std::vector<uint32_t> expected = bits(folder_, portable, prompt);
  for (const uint32_t chunk : {1U, 7U, 512U}) {
    EngineSettings settings;
    settings.options.ring_slots = chunk == 7 ? 2 : 384;
    settings.options.prompt_chunk = chunk;
    settings.threads = chunk == 7 ? 3 : 2;
    ASSERT_EQ(bits(folder_, settings, prompt), expected) << "chunk " << chunk;
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, Quantized, testing::ValuesIn(kQuantizedCases),
                         [](const auto& instance) {
                           return std::string(smoe::info(instance.param.format).name);
                         });

}  // namespace
}  // namespace smoe::test
