#include "base/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <nlohmann/json.hpp>

#include "base/rng.h"

namespace smoe {
namespace {

using testing::HasSubstr;

Json parsed(std::string_view text) {
  auto json = Json::parse(text);
  EXPECT_TRUE(json) << text << ": " << json.error().message;
  return json ? std::move(*json) : Json();
}

// Back to text, numbers as they stood.
void write(const Json& json, JsonWriter& to) {
  switch (json.kind()) {
    case Json::Kind::kNull:
      to.null();
      break;
    case Json::Kind::kBool:
      to.value(*json.as_bool());
      break;
    case Json::Kind::kNumber:
      to.raw(json.number_text());
      break;
    case Json::Kind::kString:
      to.value(*json.as_string());
      break;
    case Json::Kind::kArray:
      to.begin_array();
      for (const Json& item : json.items()) write(item, to);
      to.end_array();
      break;
    case Json::Kind::kObject:
      to.begin_object();
      for (const auto& [key, value] : json.members()) write(value, to.key(key));
      to.end_object();
      break;
  }
}

std::string text_of(const Json& json) {
  JsonWriter writer;
  write(json, writer);
  return writer.take();
}

TEST(Json, KeepsTheOrderOfKeysAndTheTextOfNumbers) {
  const std::string text =
      R"({"z":1.0,"a":12345678901234567890123,"m":[1e-7,-0,0.10,1E+5],"":{"b":null,"a":true}})";
  EXPECT_EQ(text_of(parsed(text)), text);
}

TEST(Json, ReadsEveryKindAlsoAsTheWholeDocument) {
  EXPECT_TRUE(parsed(" null ").is_null());
  EXPECT_EQ(parsed("true").as_bool(), true);
  EXPECT_EQ(parsed(" -1.50 ").number_text(), "-1.50");
  EXPECT_EQ(parsed("\"a\\u00e9\\ud83d\\ude38\\n\"").as_string(), "a\u00e9\U0001F638\n");
  EXPECT_EQ(parsed("[1,2,3]").items().size(), 3U);
  EXPECT_TRUE(parsed("{}").is_object());
  EXPECT_TRUE(parsed("\n[\t]\r").is_array());
}

TEST(Json, AnswersNothingForAMissingMemberOrAnotherKind) {
  const Json json = parsed(R"({"a":[1],"s":"x"})");
  EXPECT_EQ(json.find("b"), nullptr);
  EXPECT_EQ(json.find("a")->find("x"), nullptr);
  EXPECT_EQ(json.find("s")->as_double(), std::nullopt);
  EXPECT_EQ(json.find("s")->as_bool(), std::nullopt);
  EXPECT_EQ(json.as_string(), std::nullopt);
  EXPECT_TRUE(json.items().empty());
}

TEST(Json, ConvertsNumbersOnlyWhereTheyFit) {
  EXPECT_EQ(parsed("18446744073709551615").as_uint(), 18446744073709551615U);
  EXPECT_EQ(parsed("18446744073709551616").as_uint(), std::nullopt);
  EXPECT_EQ(parsed("-1").as_uint(), std::nullopt);
  EXPECT_EQ(parsed("1.5").as_uint(), std::nullopt);
  EXPECT_EQ(parsed("10000.0").as_uint(), 10000U);
  EXPECT_EQ(parsed("1e6").as_uint(), 1000000U);
  EXPECT_EQ(parsed("1e30").as_uint(), std::nullopt);
  EXPECT_EQ(parsed("-9223372036854775808").as_int(), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(parsed("9223372036854775808").as_int(), std::nullopt);
  EXPECT_EQ(parsed("-3.0").as_int(), -3);
  EXPECT_EQ(parsed("1e-6").as_double(), 1e-6);
  EXPECT_EQ(parsed("1e999").as_double(), std::nullopt);
}

TEST(Json, RefusesWhatIsNoJson) {
  for (const char* text :
       {"",          " ",           "nul",        "nulll",        "tru",     "[1,2",
        "[1,]",      "[,1]",        "[1 2]",      "[1",           "]",       "],[",
        "1,2",       "1 2",         "{",          "{}}",          "{}{}",    "[1]x",
        "{\"a\" 1}", "{a:1}",       "{\"a\":1,}", "{,}",          "{\"a\"}", "{\"a\":}",
        "{1:2}",     "01",          "-",          "1.",           ".5",      "1e",
        "+1",        "0x10",        "NaN",        "'a'",          "\"a",     "\"\\x\"",
        "\"\\u12\"", "\"\\ud800\"", "\"a\nb\"",   "[\"a\"\"b\"]", "//x\n1",  "\xef\xbb\xbf{}"})
    EXPECT_FALSE(Json::parse(text)) << text;
  EXPECT_FALSE(Json::parse(std::string_view("1\0", 2)));
  EXPECT_FALSE(Json::parse("\"\xff\""));
  EXPECT_FALSE(Json::parse("\"\xed\xa0\x80\""));  // a surrogate in UTF-8
}

TEST(Json, RefusesADuplicateKeyOrTakesTheLastAsAsked) {
  const std::string text = R"({"a":1,"b":2,"a":3})";
  const auto refused = Json::parse(text);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("duplicate key \"a\""));
  const auto taken = Json::parse(text, {.unique_keys = false});
  ASSERT_TRUE(taken);
  EXPECT_EQ(text_of(*taken), R"({"b":2,"a":3})");
  EXPECT_FALSE(Json::parse(R"({"\u0061":1,"a":2})"));  // equal once unescaped
}

// CONVENTIONS C36: nested input must not exhaust the stack.
TEST(Json, LimitsTheDepth) {
  const auto nested = [](size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_TRUE(Json::parse(nested(64)));
  EXPECT_THAT(Json::parse(nested(65)).error().message, HasSubstr("deeper than 64"));
  EXPECT_FALSE(Json::parse(nested(1000000)));
  EXPECT_FALSE(Json::parse(std::string(1000000, '[')));
  EXPECT_TRUE(Json::parse(R"([{"a":1}])", {.max_depth = 2}));
  EXPECT_FALSE(Json::parse(R"([{"a":[]}])", {.max_depth = 2}));
}

// The size of a real tokenizer.json: 150 k members and 150 k pairs.
TEST(Json, ReadsALargeVocabularyInWellUnderASecond) {
  JsonWriter writer;
  writer.begin_object().key("vocab").begin_object();
  for (int i = 0; i < 150000; ++i) writer.member("token" + std::to_string(i * 7919), i);
  writer.end_object().key("merges").begin_array();
  for (int i = 0; i < 150000; ++i) writer.begin_array().value("left").value("right").end_array();
  writer.end_array().end_object();
  // The processor's time: what else the machine does is no fault of the parser's.
  const std::clock_t begin = std::clock();
  const auto json = Json::parse(writer.text());
  const double seconds = static_cast<double>(std::clock() - begin) / double{CLOCKS_PER_SEC};
  ASSERT_TRUE(json);
  EXPECT_EQ(json->find("vocab")->members().size(), 150000U);
  EXPECT_EQ(json->find("merges")->items().size(), 150000U);
  EXPECT_LT(seconds, 5.0);  // sanitizers included; measured 0.15 s in release
}

// Two independent readers must agree on every text near valid JSON.
TEST(Json, AcceptsExactlyWhatAnIndependentReaderAccepts) {
  const std::string seed =
      R"({"a":[1,-2.5e+3,true,false,null,"x\"\\\u00e9\n"],"b":{"c":{},"d":[[],[0]]}, "é":1e5})";
  constexpr std::string_view kBytes = "{}[]:,\"\\ \n01-+.eEtfnu\xc3\xa9/\x01";
  Rng rng(1);
  size_t accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text = seed;
    for (uint64_t edits = 1 + rng.below(3); edits > 0; --edits) {
      const size_t at = rng.below(text.size());
      const char byte = kBytes[rng.below(kBytes.size())];
      const uint64_t kind = rng.below(3);
      if (kind == 0) text[at] = byte;
      if (kind == 1) text.insert(at, 1, byte);
      if (kind == 2) text.erase(at, 1 + rng.below(4));
    }
    const bool wanted = nlohmann::json::accept(text);
    const auto json = Json::parse(text, {.unique_keys = false});
    ASSERT_EQ(json.has_value(), wanted) << text << (json ? "" : json.error().message);
    if (!wanted) continue;
    ++accepted;
    // nlohmann refuses numbers beyond a double when it reads values; ours keeps their text.
    const auto other = nlohmann::json::parse(text, nullptr, false);
    if (!other.is_discarded()) {
      ASSERT_EQ(nlohmann::json::parse(text_of(*json)), other) << text;
    }
  }
  EXPECT_GT(accepted, 100U);
}

TEST(IsUtf8, AcceptsWellFormedSequencesOnly) {
  EXPECT_TRUE(is_utf8("plain \u00e9 \u20ac \U0001F638"));
  for (const char* text : {"\x80", "\xc3", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xff"})
    EXPECT_FALSE(is_utf8(text));
}

}  // namespace
}  // namespace smoe
