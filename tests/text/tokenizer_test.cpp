#include "text/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <ctime>
#include <thread>

#include "base/file.h"
#include "support/temp_dir.h"
#include "text/reference.h"
#include "text/support.h"

namespace smoe {
namespace {

using nlohmann::ordered_json;
using test::added_token;
using test::byte_tokenizer;
using test::must_parse;
using test::numbers;
using test::refusal;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<uint32_t> tokenizer_ids(const Tokenizer& tokenizer, std::string_view text,
                                    Tokenizer::Encode options = {}) {
  const auto tokens = tokenizer.encode(text, options);
  EXPECT_TRUE(tokens) << tokens.error().message;
  return tokens ? numbers(*tokens) : std::vector<uint32_t>();
}

ordered_json with_added(const std::vector<ordered_json>& added) {
  ordered_json description = byte_tokenizer();
  for (const auto& token : added) description["added_tokens"].push_back(token);
  return description;
}

TEST(Tokenizer, AnswersForEachIdAndToken) {
  const Tokenizer tokenizer = must_parse(
      with_added({added_token(256, "<s>"), added_token(300, "<x y>", {{"special", false}})}));
  EXPECT_EQ(tokenizer.size(), 301u);
  EXPECT_EQ(tokenizer.find("<s>"), TokenId{256});
  EXPECT_EQ(tokenizer.find("\u0120"), TokenId{32});
  EXPECT_EQ(tokenizer.find("<t>"), std::nullopt);
  EXPECT_TRUE(tokenizer.is_special(TokenId{256}));
  EXPECT_FALSE(tokenizer.is_special(TokenId{300}));
  EXPECT_FALSE(tokenizer.is_special(TokenId{4000000000}));
  EXPECT_EQ(tokenizer.bytes_of(TokenId{32}), " ");
  EXPECT_EQ(tokenizer.bytes_of(TokenId{300}), "<x y>");
  EXPECT_EQ(tokenizer.bytes_of(TokenId{280}), "");
}

TEST(Tokenizer, TextThatIsNoUtf8IsRefusedWithItsByteOffset) {
  const Tokenizer tokenizer = must_parse(byte_tokenizer());
  const auto tokens = tokenizer.encode("abc\xc3(");
  ASSERT_FALSE(tokens);
  EXPECT_EQ(tokens.error().code, Code::kCorrupt);
  EXPECT_EQ(tokens.error().message, "text: byte 3 is no UTF-8");
}

TEST(Tokenizer, SpecialTokensInTextAreTextUnlessTheyAreParsed) {
  const Tokenizer tokenizer = must_parse(
      with_added({added_token(256, "<s>"), added_token(257, "<t>", {{"special", false}})}));
  EXPECT_THAT(tokenizer_ids(tokenizer, "a<s>b<t>"), ElementsAre('a', 256, 'b', 257));
  EXPECT_THAT(tokenizer_ids(tokenizer, "a<s>b<t>", {.parse_special = false}),
              ElementsAre('a', '<', 's', '>', 'b', 257));
}

TEST(Tokenizer, TheLeftmostThenTheLongestAddedTokenIsFound) {
  const Tokenizer tokenizer = must_parse(
      with_added({added_token(256, "<s"), added_token(257, "<s>>"), added_token(258, "s>>")}));
  EXPECT_THAT(tokenizer_ids(tokenizer, "<s>>"), ElementsAre(257));
  EXPECT_THAT(tokenizer_ids(tokenizer, "<s>x"), ElementsAre(256, '>', 'x'));
  EXPECT_THAT(tokenizer_ids(tokenizer, "s>><"), ElementsAre(258, '<'));
}

TEST(Tokenizer, AddedTokensTakeWhiteSpaceAlongWhenTheySaySo) {
  const Tokenizer tokenizer = must_parse(with_added(
      {added_token(256, "<l>", {{"lstrip", true}}), added_token(257, "<r>", {{"rstrip", true}})}));
  EXPECT_THAT(tokenizer_ids(tokenizer, "a \t\u3000<l> b"), ElementsAre('a', 256, ' ', 'b'));
  EXPECT_THAT(tokenizer_ids(tokenizer,
                            "a <r> \n\u00a0"
                            "b"),
              ElementsAre('a', ' ', 257, 'b'));
  EXPECT_THAT(tokenizer_ids(tokenizer, "<r>  <l>"), ElementsAre(257, 256));
}

TEST(Tokenizer, ASingleWordIsFoundOnlyWhereNoWordTouchesIt) {
  const Tokenizer tokenizer =
      must_parse(with_added({added_token(256, "word", {{"single_word", true}})}));
  EXPECT_THAT(tokenizer_ids(tokenizer, "word"), ElementsAre(256));
  EXPECT_THAT(tokenizer_ids(tokenizer, "-word."), ElementsAre('-', 256, '.'));
  EXPECT_THAT(tokenizer_ids(tokenizer, "words"), ElementsAre('w', 'o', 'r', 'd', 's'));
  EXPECT_THAT(tokenizer_ids(tokenizer, "_word"), ElementsAre('_', 'w', 'o', 'r', 'd'));
  EXPECT_THAT(tokenizer_ids(tokenizer, "\u00e9word"), ElementsAre(0xc3, 0xa9, 'w', 'o', 'r', 'd'));
}

TEST(Tokenizer, NormalisedTokensAreLookedForInNormalisedText) {
  ordered_json description = with_added(
      {added_token(256, "e\u0301!", {{"normalized", true}}), added_token(257, "o\u0301!")});
  description["normalizer"] = {{"type", "NFC"}};
  const Tokenizer tokenizer = must_parse(description);
  EXPECT_THAT(tokenizer_ids(tokenizer, "\u00e9!"), ElementsAre(256));
  EXPECT_THAT(tokenizer_ids(tokenizer, "e\u0301!"), ElementsAre(256));
  EXPECT_THAT(tokenizer_ids(tokenizer, "o\u0301!"), ElementsAre(257));
  EXPECT_THAT(tokenizer_ids(tokenizer, "\u00f3!"), ElementsAre(0xc3, 0xb3, '!'));
}

TEST(Tokenizer, TheTemplateSurroundsTextWhenSpecialTokensAreAskedFor) {
  ordered_json description = with_added({added_token(256, "<s>"), added_token(257, "</s>")});
  const ordered_json one = {{"SpecialToken", {{"id", "<s>"}, {"type_id", 0}}}};
  const ordered_json text = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
  const ordered_json two = {{"SpecialToken", {{"id", "</s>"}, {"type_id", 0}}}};
  const ordered_json processor = {
      {"type", "TemplateProcessing"},
      {"single", {one, text, two}},
      {"pair", ordered_json::array()},
      {"special_tokens",
       {{"<s>", {{"id", "<s>"}, {"ids", {256}}, {"tokens", {"<s>"}}}},
        {"</s>", {{"id", "</s>"}, {"ids", {257, 257}}, {"tokens", {"</s>", "</s>"}}}}}}};
  description["post_processor"] = {{"type", "Sequence"},
                                   {"processors", {test::byte_level(), processor}}};
  const Tokenizer tokenizer = must_parse(description);
  EXPECT_THAT(tokenizer_ids(tokenizer, "a", {.add_special = true}),
              ElementsAre(256, 'a', 257, 257));
  EXPECT_THAT(tokenizer_ids(tokenizer, "", {.add_special = true}), ElementsAre(256, 257, 257));
  EXPECT_THAT(tokenizer_ids(tokenizer, "a"), ElementsAre('a'));

  description["post_processor"] = processor;
  description["post_processor"]["single"] = {one, two};
  EXPECT_THAT(refusal(description), HasSubstr("around one sequence A"));
  description["post_processor"]["single"] = {one, text, text};
  EXPECT_THAT(refusal(description), HasSubstr("around one sequence A"));
  description["post_processor"]["single"] = ordered_json::array({text});
  description["post_processor"]["special_tokens"] = ordered_json::object();
  EXPECT_EQ(refusal(description), "");
  description["post_processor"]["single"] = {one, text};
  EXPECT_THAT(refusal(description), HasSubstr("no ids for \"<s>\""));
  description["post_processor"]["special_tokens"] = {{"<s>", {{"id", "<s>"}, {"ids", {9999}}}}};
  EXPECT_THAT(refusal(description), HasSubstr("an id that is no token"));
}

// Trap 1: the file's own expression is compiled, whether anybody has seen it before or not.
TEST(Tokenizer, AChangedSplitExpressionChangesTheSplit) {
  const std::string file =
      *read_text_file(SMOE_SOURCE_DIR "/models/tales/tokenizer.json", 64 << 20);
  auto description = ordered_json::parse(file);
  const Tokenizer before = must_parse(description);
  std::string& regex =
      description["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"].get_ref<std::string&>();
  regex = "Onc|" + regex;
  const Tokenizer after = must_parse(description);
  EXPECT_EQ(tokenizer_ids(before, "the cat"), tokenizer_ids(after, "the cat"));
  EXPECT_NE(tokenizer_ids(before, "Onceupon"), tokenizer_ids(after, "Onceupon"));
  EXPECT_EQ(after.decode(*after.encode("Onceupon"), false), "Onceupon");
}

// Trap 1.
TEST(Tokenizer, WhatIsNotKnownStopsWithFileAndName) {
  const auto with = [](const std::string& field, const ordered_json& value) {
    ordered_json description = byte_tokenizer();
    description[field] = value;
    return refusal(description);
  };
  EXPECT_EQ(with("pre_tokenizer", {{"type", "Whitespace"}}),
            "test.json: pre_tokenizer Whitespace is not supported by this version");
  EXPECT_THAT(with("normalizer", {{"type", "Precompiled"}}), HasSubstr("normalizer Precompiled"));
  EXPECT_THAT(with("decoder", {{"type", "CTC"}}), HasSubstr("decoder CTC"));
  EXPECT_THAT(with("decoder", nullptr), HasSubstr("decoder"));
  EXPECT_THAT(with("post_processor", {{"type", "BertProcessing"}}),
              HasSubstr("post_processor BertProcessing"));
  EXPECT_THAT(with("model", {{"type", "WordPiece"}}), HasSubstr("model WordPiece"));
  EXPECT_THAT(with("version", "2.0"), HasSubstr("version \"2.0\""));
  EXPECT_THAT(with("extension", 1), HasSubstr("\"extension\""));
  EXPECT_THAT(with("added_tokens", ordered_json::array({added_token(256, "<s>", {{"shape", 1}})})),
              HasSubstr("\"shape\""));
}

TEST(Tokenizer, AVocabularyThatWouldLoseBytesIsRefused) {
  ordered_json description = byte_tokenizer();
  description["model"]["vocab"].erase("\u0120");
  EXPECT_THAT(refusal(description), HasSubstr("no token for byte 32"));
  description = byte_tokenizer();
  description["model"]["vocab"].erase(test::letters("\xff"));
  EXPECT_EQ(refusal(description), "");
}

TEST(Tokenizer, AddedTokensThatContradictTheVocabularyAreRefused) {
  EXPECT_THAT(refusal(with_added({added_token(97, "<s>")})), HasSubstr("that is \"a\""));
  EXPECT_THAT(refusal(with_added({added_token(98, "a")})), HasSubstr("it has id 97"));
  EXPECT_THAT(refusal(with_added({added_token(256, "<s>"), added_token(256, "<t>")})),
              HasSubstr("two added tokens"));
  EXPECT_THAT(refusal(with_added({added_token(256, "<s>"), added_token(257, "<s>")})),
              HasSubstr("two added tokens"));
  EXPECT_THAT(refusal(with_added({added_token(4194304, "<s>")})), HasSubstr("token id"));
  EXPECT_THAT(refusal(with_added({added_token(256, std::string(1025, 'x'))})),
              HasSubstr("longer than 1024"));
}

TEST(Tokenizer, FilesThatAreNoneSayWhichAndWhy) {
  const test::TempDir folder;
  const auto missing = Tokenizer::load(folder.path());
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kNotFound);
  EXPECT_THAT(missing.error().message, HasSubstr("tokenizer.json"));

  const std::string text = byte_tokenizer().dump();
  for (const size_t cut : {size_t{0}, size_t{1}, text.size() / 2, text.size() - 1}) {
    ASSERT_TRUE(replace_file(folder / "tokenizer.json", std::string_view(text).substr(0, cut)));
    const auto truncated = Tokenizer::load(folder.path());
    ASSERT_FALSE(truncated) << cut;
    EXPECT_EQ(truncated.error().code, Code::kCorrupt);
    EXPECT_THAT(truncated.error().message, HasSubstr("tokenizer.json"));
  }
  ASSERT_TRUE(replace_file(folder / "tokenizer.json", text));
  EXPECT_TRUE(Tokenizer::load(folder.path()));
  EXPECT_TRUE(Tokenizer::load(folder / "tokenizer.json"));
}

// RELIABILITY F5: a file of a stranger is read or refused in seconds.
TEST(Tokenizer, AddedTokensThatTakeLongToNormaliseAreRefusedTogether) {
  ordered_json description = byte_tokenizer();
  description["normalizer"] = {
      {"type", "Replace"}, {"pattern", {{"Regex", "(a|aa)+$"}}}, {"content", ""}};
  description["added_tokens"] = ordered_json::array();
  const auto add_tokens = [&](int count) {
    for (int index = 0; index < count; ++index)
      description["added_tokens"].push_back(added_token(
          static_cast<uint32_t>(256 + description["added_tokens"].size()),
          std::string(28, 'a') + "b" + std::to_string(description["added_tokens"].size()),
          {{"normalized", true}}));
  };
  add_tokens(1);
  EXPECT_EQ(refusal(description), "");
  add_tokens(5000);
  const std::clock_t begin = std::clock();
  EXPECT_THAT(refusal(description), HasSubstr("gave up at byte"));
  EXPECT_LT(static_cast<double>(std::clock() - begin) / double{CLOCKS_PER_SEC}, 10);
}

TEST(Tokenizer, AMegabyteWithoutASplitTakesSecondsAtMost) {
  const auto tokenizer = Tokenizer::load(SMOE_SOURCE_DIR "/models/tales");
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  std::string letters;
  for (uint32_t index = 0; index < 1 << 20; ++index)
    letters += static_cast<char>('a' + index * 7919 % 26);
  const std::string texts[] = {std::string(1 << 20, 'a'),       std::string(1 << 20, ' '),
                               std::string(1 << 20, ' ') + "x", std::string(1 << 20, '\n'),
                               std::string(1 << 20, '!'),       letters};
  for (const std::string& text : texts) {
    const auto begin = std::chrono::steady_clock::now();
    const auto tokens = tokenizer->encode(text);
    ASSERT_TRUE(tokens) << tokens.error().message;
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
    EXPECT_EQ(tokenizer->decode(*tokens, false), text);
  }
}

TEST(Tokenizer, ManyThreadsMayUseOneTokenizer) {
  const auto tokenizer = Tokenizer::load(SMOE_SOURCE_DIR "/models/tales");
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  const std::string text = "Once upon a time, there was a caf\u00e9 with 12 cats.<|im_end|>\n";
  const auto expected = tokenizer_ids(*tokenizer, text);
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        const auto tokens = tokenizer->encode(text);
        if (!tokens || numbers(*tokens) != expected) ++wrong;
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace smoe
