#include "text/end_tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "text/reference.h"
#include "text/support.h"

namespace smoe {
namespace {

using nlohmann::ordered_json;
using testing::ElementsAre;
using testing::HasSubstr;

Tokenizer with_ends(bool with_template) {
  ordered_json description = test::byte_tokenizer();
  description["added_tokens"] = {test::added_token(256, "<s>"), test::added_token(257, "</s>")};
  if (with_template)
    description["post_processor"] = {
        {"type", "TemplateProcessing"},
        {"single",
         {{{"SpecialToken", {{"id", "<s>"}, {"type_id", 0}}}},
          {{"Sequence", {{"id", "A"}, {"type_id", 0}}}}}},
        {"pair", ordered_json::array()},
        {"special_tokens", {{"<s>", {{"id", "<s>"}, {"ids", {256}}, {"tokens", {"<s>"}}}}}}};
  return test::must_parse(description);
}

std::vector<uint32_t> completed(const EndTokens& ends, const std::vector<uint32_t>& numbers) {
  std::vector<TokenId> tokens = test::token_ids(numbers);
  ends.complete(tokens);
  return test::numbers(tokens);
}

EndTokens must_read(std::string_view config, const Tokenizer& tokenizer) {
  const auto ends = read_end_tokens(config, tokenizer);
  if (!ends) throw std::runtime_error(ends.error().message);
  return *ends;
}

// Trap 4.
TEST(EndTokens, ComeOnceWhetherTheTemplateWroteThemOrNot) {
  const Tokenizer tokenizer = with_ends(false);
  const EndTokens ends = must_read(
      R"({"bos_token":"<s>","eos_token":{"content":"</s>","lstrip":false},"add_bos_token":true,)"
      R"("add_eos_token":true})",
      tokenizer);
  EXPECT_THAT(completed(ends, {97}), ElementsAre(256, 97, 257));
  EXPECT_THAT(completed(ends, {256, 97}), ElementsAre(256, 97, 257));
  EXPECT_THAT(completed(ends, {256, 97, 257}), ElementsAre(256, 97, 257));
  EXPECT_THAT(completed(ends, {}), ElementsAre(256, 257));
}

// Trap 4.
TEST(EndTokens, AreNotAddedUnlessAskedFor) {
  const Tokenizer tokenizer = with_ends(false);
  EXPECT_THAT(completed(must_read("", tokenizer), {97}), ElementsAre(97));
  const EndTokens named = must_read(R"({"bos_token":"<s>","eos_token":"</s>"})", tokenizer);
  EXPECT_EQ(named.bos, TokenId{256});
  EXPECT_EQ(named.eos, TokenId{257});
  EXPECT_THAT(completed(named, {97}), ElementsAre(97));
  EXPECT_THAT(completed(must_read(R"({"bos_token":null,"add_bos_token":true})", tokenizer), {97}),
              ElementsAre(97));
}

TEST(EndTokens, ThePostProcessorDecidesWhatTheConfigurationLeavesOpen) {
  const Tokenizer tokenizer = with_ends(true);
  EXPECT_THAT(completed(must_read("", tokenizer), {97}), ElementsAre(256, 97));
  EXPECT_THAT(completed(must_read(R"({"bos_token":"<s>"})", tokenizer), {97}),
              ElementsAre(256, 97));
  EXPECT_THAT(completed(must_read(R"({"bos_token":"<s>","add_bos_token":false})", tokenizer), {97}),
              ElementsAre(97));
}

TEST(EndTokens, ATokenThatTheTokenizerLacksIsAnError) {
  const Tokenizer tokenizer = with_ends(false);
  const auto missing = read_end_tokens(R"({"bos_token":"<x>"})", tokenizer);
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("\"bos_token\" is \"<x>\""));
  EXPECT_FALSE(read_end_tokens(R"({"bos_token":7})", tokenizer));
  EXPECT_FALSE(read_end_tokens("{", tokenizer));
}

}  // namespace
}  // namespace smoe
