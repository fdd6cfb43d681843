#include "text/normalizer.h"

#include <gtest/gtest.h>

#include <chrono>

#include "text/support.h"

namespace smoe {
namespace {

std::string normalizer_refusal(const nlohmann::ordered_json& description) {
  const auto normalizer = Normalizer::from_json(test::to_json(description));
  return normalizer ? "accepted" : normalizer.error().message;
}

TEST(Normalizer, ComposesAsUnicodeSays) {
  EXPECT_EQ(to_nfc("cafe\u0301"), "caf\u00e9");
  EXPECT_EQ(to_nfc("a\u0301\u0323"), "\u1ea1\u0301");
  EXPECT_EQ(to_nfc("\u1100\u1161\u11a8"), "\uac01");
  EXPECT_EQ(to_nfc("\u212b\u2126"), "\u00c5\u03a9");
  EXPECT_EQ(to_nfc(">\u0338"), "\u226f");
  EXPECT_EQ(to_nfc("\u0958"), "\u0915\u093c");
  EXPECT_EQ(to_nfc("plain"), "plain");
}

TEST(Normalizer, CharactersUnknownToTheReferenceStayWhereTheyAre) {
  // U+0898 has a combining class of 230 in Unicode 14; U+11938 decomposes in 13.
  EXPECT_EQ(to_nfc("a\u0898\u0323"), "a\u0898\u0323");
  EXPECT_EQ(to_nfc("\U00011935\U00011930"), "\U00011935\U00011930");
  EXPECT_EQ(to_nfc("\U00011938"), "\U00011938");
}

TEST(Normalizer, AMegabyteOfCombiningMarksTakesNoMinutes) {
  std::string text = "a";
  for (int mark = 0; mark < 250'000; ++mark) text += mark % 2 == 0 ? "\u0301" : "\u0323";
  const auto begin = std::chrono::steady_clock::now();
  const std::string normal = to_nfc(text);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  EXPECT_EQ(normal.substr(0, 3), "\u1ea1");
}

TEST(Normalizer, NoneAndEmptySequencesChangeNothing) {
  EXPECT_TRUE(Normalizer::from_json(Json())->changes_nothing());
  const auto empty = Normalizer::from_json(
      test::to_json({{"type", "Sequence"}, {"normalizers", nlohmann::ordered_json::array()}}));
  ASSERT_TRUE(empty);
  EXPECT_EQ(*empty->normalize("e\u0301"), "e\u0301");
}

std::string normal(const nlohmann::ordered_json& description, const std::string& text) {
  const auto normalizer = Normalizer::from_json(test::to_json(description));
  if (!normalizer) return "<" + normalizer.error().message + ">";
  const auto result = normalizer->normalize(text);
  return result ? *result : "<" + result.error().message + ">";
}

nlohmann::ordered_json replace(const std::string& kind, const std::string& pattern,
                               const std::string& content) {
  return {{"type", "Replace"}, {"pattern", {{kind, pattern}}}, {"content", content}};
}

TEST(Normalizer, EachStepDoesWhatItsNameSays) {
  EXPECT_EQ(normal({{"type", "Prepend"}, {"prepend", "\u2581"}}, "a"), "\u2581a");
  EXPECT_EQ(normal({{"type", "Prepend"}, {"prepend", "\u2581"}}, ""), "");
  EXPECT_EQ(normal(replace("String", " ", "\u2581"), "a  b"), "a\u2581\u2581b");
  EXPECT_EQ(normal(replace("Regex", " {2,}", "_"), "a b   c"), "a b_c");
  EXPECT_EQ(normal({{"type", "Lowercase"}}, "\u0130A\u03a3"), "i\u0307a\u03c3");
  EXPECT_EQ(normal({{"type", "Strip"}, {"strip_left", true}, {"strip_right", false}}, " \u3000a "),
            "a ");
  EXPECT_EQ(normal({{"type", "Strip"}, {"strip_left", false}, {"strip_right", true}}, " a\n\u00a0"),
            " a");
  EXPECT_EQ(normal({{"type", "NFKC"}}, "\ufb01\u2460"), "fi1");
}

TEST(Normalizer, StepsThatWouldFillTheMemoryAreRefused) {
  EXPECT_NE(normalizer_refusal(replace("String", "a", std::string(65, 'a'))), "accepted");
  EXPECT_NE(normalizer_refusal({{"type", "Prepend"}, {"prepend", ""}}), "accepted");
  std::vector<nlohmann::ordered_json> steps(8, replace("String", "a", "aaaaaaaa"));
  EXPECT_EQ(normal({{"type", "Sequence"}, {"normalizers", steps}}, std::string(100, 'a')),
            "<normalizer: makes text more than 64 times as long>");
}

TEST(Normalizer, TrackedTextKnowsWhereItsBytesCameFrom) {
  const auto normalizer =
      Normalizer::from_json(test::to_json({{"type", "Sequence"},
                                           {"normalizers",
                                            {{{"type", "NFC"}},
                                             replace("String", "-", ""),
                                             {{"type", "Prepend"}, {"prepend", "__"}}}}}));
  ASSERT_TRUE(normalizer);
  SourcedText text{.text = "ae\u0301-b",
                   .sources = {0, 1, 2, 3, 4, 5},
                   .tracked = true,
                   .source_limit = 6,
                   .first_bytes = 1};
  const auto result = normalizer->normalize(std::move(text));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->text, "__a\u00e9b");
  EXPECT_EQ(result->sources, (std::vector<uint32_t>{0, 0, 0, 1, 1, 5}));
  EXPECT_EQ(result->first_bytes, 3u);
  EXPECT_EQ(result->source_end(5), 5u);
  EXPECT_EQ(result->source_end(6), 6u);
}

TEST(Normalizer, WhatReplacesSeveralCharactersDoesNotBeginTheOriginal) {
  const auto first_bytes = [](const std::string& pattern) {
    const auto normalizer = Normalizer::from_json(test::to_json(replace("String", pattern, "xyz")));
    return normalizer->normalize(SourcedText{.text = "abc", .first_bytes = 1})->first_bytes;
  };
  EXPECT_EQ(first_bytes("a"), 3u);
  EXPECT_EQ(first_bytes("ab"), 0u);
  EXPECT_EQ(first_bytes("b"), 1u);
}

// Trap 1.
TEST(Normalizer, AStepThatIsNotKnownStopsWithItsName) {
  EXPECT_EQ(normalizer_refusal({{"type", "Precompiled"}}),
            "normalizer Precompiled is not supported by this version");
  EXPECT_EQ(normalizer_refusal(
                {{"type", "Sequence"}, {"normalizers", {{{"type", "NFC"}}, {{"type", "Nmt"}}}}}),
            "normalizer Nmt is not supported by this version");
  EXPECT_EQ(normalizer_refusal({{"type", "NFC"}, {"form", 2}}),
            "normalizer NFC: field \"form\" is not supported by this version");
  EXPECT_NE(normalizer_refusal({{"kind", "NFC"}}), "accepted");
  EXPECT_NE(normalizer_refusal(nlohmann::ordered_json::array()), "accepted");
}

}  // namespace
}  // namespace smoe
