#include "text/pretokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "text/support.h"

namespace smoe {
namespace {

using nlohmann::ordered_json;
using testing::ElementsAre;
using testing::HasSubstr;

ordered_json split(const std::string& regex, const std::string& behavior, bool invert = false) {
  return {{"type", "Split"},
          {"pattern", {{"Regex", regex}}},
          {"behavior", behavior},
          {"invert", invert}};
}

std::vector<std::string> split_pieces(const ordered_json& description, const std::string& text) {
  const auto pretokenizer = Pretokenizer::from_json(test::to_json(description));
  if (!pretokenizer) return {"<" + pretokenizer.error().message + ">"};
  const auto split = pretokenizer->split(text);
  if (!split) return {"<" + split.error().message + ">"};
  std::vector<std::string> result;
  for (size_t piece = 0; piece < split->ranges.size(); ++piece)
    result.emplace_back(split->at(piece));
  return result;
}

std::string pretokenizer_refusal(const ordered_json& description) {
  const auto pretokenizer = Pretokenizer::from_json(test::to_json(description));
  return pretokenizer ? "accepted" : pretokenizer.error().message;
}

TEST(Pretokenizer, EachBehaviorTreatsMatchesAsItsNameSays) {
  const std::string text = "the-final--countdown-";
  EXPECT_THAT(split_pieces(split("-", "Removed"), text), ElementsAre("the", "final", "countdown"));
  EXPECT_THAT(split_pieces(split("-", "Isolated"), text),
              ElementsAre("the", "-", "final", "-", "-", "countdown", "-"));
  EXPECT_THAT(split_pieces(split("-", "MergedWithPrevious"), text),
              ElementsAre("the-", "final-", "-", "countdown-"));
  EXPECT_THAT(split_pieces(split("-", "MergedWithNext"), text),
              ElementsAre("the", "-final", "-", "-countdown", "-"));
  EXPECT_THAT(split_pieces(split("-", "Contiguous"), text),
              ElementsAre("the", "-", "final", "--", "countdown", "-"));
}

TEST(Pretokenizer, AnInvertedSplitTakesTheTextBetweenMatches) {
  EXPECT_THAT(split_pieces(split("[a-z]+", "Removed", true), "one, two"),
              ElementsAre("one", "two"));
  EXPECT_THAT(split_pieces(split("[a-z]+", "MergedWithPrevious", true), "one, two"),
              ElementsAre("one, ", "two"));
}

TEST(Pretokenizer, ALiteralPatternIsNoExpression) {
  const ordered_json literal = {{"type", "Split"},
                                {"pattern", {{"String", "."}}},
                                {"behavior", "Removed"},
                                {"invert", false}};
  EXPECT_THAT(split_pieces(literal, "a.b"), ElementsAre("a", "b"));
}

TEST(Pretokenizer, ByteLevelWritesBytesAsLetters) {
  EXPECT_THAT(split_pieces(test::byte_level(), "a \u00e9"), ElementsAre("a\u0120\u00c3\u00a9"));
  EXPECT_THAT(split_pieces(test::byte_level(true), "a"), ElementsAre("\u0120a"));
  EXPECT_THAT(split_pieces(test::byte_level(true), " a"), ElementsAre("\u0120a"));
  EXPECT_THAT(split_pieces(test::byte_level(false, true), "It's 12 o'clock"),
              ElementsAre("It", "'s", "\u012012", "\u0120o", "'", "clock"));
  EXPECT_THAT(split_pieces(test::byte_level(true), ""), ElementsAre());
}

TEST(Pretokenizer, StepsOfASequenceCutWhatTheOnesBeforeLeft) {
  const ordered_json sequence = {
      {"type", "Sequence"},
      {"pretokenizers",
       {split("\\p{N}", "Isolated"), split("\\s+", "Removed"), test::byte_level(true)}}};
  EXPECT_THAT(split_pieces(sequence, "a 12"), ElementsAre("\u0120a", "\u01201", "\u01202"));
}

ordered_json metaspace(const std::string& scheme, bool split) {
  return {{"type", "Metaspace"},
          {"replacement", "\u2581"},
          {"prepend_scheme", scheme},
          {"split", split}};
}

TEST(Pretokenizer, MetaspaceWritesSpacesVisiblyAndCutsBeforeThem) {
  EXPECT_THAT(split_pieces(metaspace("always", true), "a  b"),
              ElementsAre("\u2581a", "\u2581", "\u2581b"));
  EXPECT_THAT(split_pieces(metaspace("always", true), " a"), ElementsAre("\u2581a"));
  EXPECT_THAT(split_pieces(metaspace("never", false), "a b"), ElementsAre("a\u2581b"));
  const ordered_json sequence = {
      {"type", "Sequence"}, {"pretokenizers", {split("-", "Removed"), metaspace("first", true)}}};
  EXPECT_THAT(split_pieces(sequence, "a-b c"), ElementsAre("\u2581a", "b", "\u2581c"));
  EXPECT_THAT(split_pieces(sequence, "-b"), ElementsAre("b"));
}

TEST(Pretokenizer, DigitsAndPunctuationAreCutAsTheirStepsSay) {
  EXPECT_THAT(split_pieces({{"type", "Digits"}, {"individual_digits", false}}, "a12\u0663b"),
              ElementsAre("a", "12\u0663", "b"));
  EXPECT_THAT(split_pieces({{"type", "Digits"}, {"individual_digits", true}}, "a12"),
              ElementsAre("a", "1", "2"));
  EXPECT_THAT(split_pieces({{"type", "Punctuation"}}, "a+b."), ElementsAre("a", "+", "b", "."));
  EXPECT_THAT(split_pieces({{"type", "Punctuation"}, {"behavior", "Contiguous"}}, "a..b"),
              ElementsAre("a", "..", "b"));
}

TEST(Pretokenizer, NoneLeavesTheTextInOnePiece) {
  EXPECT_THAT(split_pieces(nullptr, "one two"), ElementsAre("one two"));
}

// Trap 1.
TEST(Pretokenizer, AStepThatIsNotKnownStopsWithItsName) {
  EXPECT_EQ(pretokenizer_refusal({{"type", "UnicodeScripts"}}),
            "pre_tokenizer UnicodeScripts is not supported by this version");
  EXPECT_EQ(
      pretokenizer_refusal({{"type", "Sequence"}, {"pretokenizers", {{{"type", "Whitespace"}}}}}),
      "pre_tokenizer Whitespace is not supported by this version");
  EXPECT_EQ(pretokenizer_refusal(split("a", "Dropped")),
            "pre_tokenizer Split: behavior \"Dropped\" is not supported by this version");
  EXPECT_THAT(pretokenizer_refusal(split("\\X", "Isolated")),
              HasSubstr("pre_tokenizer Split: regular expression"));
  ordered_json strange = test::byte_level();
  strange["mode"] = "utf-16";
  EXPECT_EQ(pretokenizer_refusal(strange),
            "pre_tokenizer ByteLevel: field \"mode\" is not supported by this version");
}

TEST(Pretokenizer, DescriptionsThatLackAFieldOrHaveAWrongOneAreCorrupt) {
  ordered_json step = split("a", "Isolated");
  step["invert"] = "no";
  EXPECT_THAT(pretokenizer_refusal(step), HasSubstr("\"invert\" should be true or false"));
  step = split("a", "Isolated");
  step["pattern"] = "a";
  EXPECT_THAT(pretokenizer_refusal(step), HasSubstr("\"pattern\" should be"));
  step["pattern"] = {{"Regex", "a"}, {"String", "a"}};
  EXPECT_THAT(pretokenizer_refusal(step), HasSubstr("\"pattern\" should be"));
  EXPECT_THAT(pretokenizer_refusal({{"type", "Sequence"}}),
              HasSubstr("\"pretokenizers\" should be"));
}

TEST(Pretokenizer, StepsThatWouldMultiplyTheWorkAreRefused) {
  const ordered_json twice = {{"type", "Sequence"},
                              {"pretokenizers", {test::byte_level(), test::byte_level()}}};
  EXPECT_THAT(pretokenizer_refusal(twice), HasSubstr("twice"));
  ordered_json many = {{"type", "Sequence"}, {"pretokenizers", ordered_json::array()}};
  for (int step = 0; step < 40; ++step) many["pretokenizers"].push_back(split("a", "Isolated"));
  EXPECT_THAT(pretokenizer_refusal(many), HasSubstr("more than 32 steps"));
}

}  // namespace
}  // namespace smoe
