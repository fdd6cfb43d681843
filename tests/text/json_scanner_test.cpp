#include "text/json_scanner.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace smoe {
namespace {

std::optional<std::string> string_of(std::string_view json) {
  JsonScanner scanner(json);
  std::string scratch;
  const auto text = scanner.string(scratch);
  if (!text || !scanner.at_end()) return std::nullopt;
  return std::string(*text);
}

TEST(JsonScanner, StringsReadAsTheTreeReaderReadsThem) {
  for (const char* json :
       {R"("")", R"("plain")", R"( "\u0120the" )", R"("\"\\\/\b\f\n\r\t")", R"("\ud83d\ude00!")",
        R"("a\u00e9b\u4e2d")", "\"\xc3\xa9\"", R"("\u0000")"}) {
    const auto tree = Json::parse(json);
    ASSERT_TRUE(tree) << json;
    EXPECT_EQ(string_of(json), tree->as_string()) << json;
  }
}

TEST(JsonScanner, StringsThatAreNoneAreRefused) {
  for (const char* json :
       {"", "x", "\"", "\"a", R"("\)", R"("\x41")", R"("\u12")", R"("\u12g4")", R"("\ud83d")",
        R"("\ud83dx")", R"("\ud83d\u0041")", R"("\ude00")", "\"a\nb\"", "\"a\x01\"",
        R"("\"")"
        "x"})
    EXPECT_EQ(string_of(json), std::nullopt) << json;
}

TEST(JsonScanner, WholeNumbersAreDigitsWithoutALeadingZero) {
  const auto number = [](std::string_view json) { return JsonScanner(json).whole_number(); };
  EXPECT_EQ(number(" 0"), 0u);
  EXPECT_EQ(number("151643,"), 151643u);
  EXPECT_EQ(number("999999999999999999"), 999999999999999999u);
  for (const char* json : {"", "-1", "01", "x", "\"1\"", "9999999999999999999", "null"})
    EXPECT_EQ(number(json), std::nullopt) << json;
  // What follows the digits is for the caller, who expects a comma or a brace.
  JsonScanner fraction("1.5");
  EXPECT_EQ(fraction.whole_number(), 1u);
  EXPECT_FALSE(fraction.take(',') || fraction.take('}'));
}

TEST(JsonScanner, ValuesEndWhereTheirBracketsClose) {
  const auto value = [](std::string_view json) { return JsonScanner(json).value(); };
  EXPECT_EQ(value(" {\"a\":[1,{}]} ,2"), "{\"a\":[1,{}]}");
  EXPECT_EQ(value("\"a\\\"]\",1"), "\"a\\\"]\"");
  EXPECT_EQ(value("[\"]\"]]"), "[\"]\"]");
  EXPECT_EQ(value("12}"), "12");
  EXPECT_EQ(value("true ,"), "true");
  for (const char* json : {"", "  ", ",", "}", "{", "[\"", "[\"\\", "{\"a\":1"})
    EXPECT_EQ(value(json), std::nullopt) << json;
}

TEST(TokenizerTables, AreCutOutWhereverTheyStand) {
  const auto tables = cut_out_tables(
      R"({"vocab":0,"model":{"merges":["a b"],"x":{"vocab":1},"vocab":{"a":0}},"z":[]})");
  ASSERT_TRUE(tables);
  EXPECT_EQ(tables->vocab, R"({"a":0})");
  EXPECT_EQ(tables->merges, R"(["a b"])");
  EXPECT_EQ(tables->rest,
            R"({"vocab":0,"model":{"merges":null,"x":{"vocab":1},"vocab":null},"z":[]})");
}

TEST(TokenizerTables, MayBeAbsentOrOfAnyKind) {
  EXPECT_EQ(cut_out_tables(R"({"model":{}})")->vocab, "");
  EXPECT_EQ(cut_out_tables(R"({"model":5})")->rest, R"({"model":5})");
  EXPECT_EQ(cut_out_tables(R"({})")->merges, "");
  EXPECT_EQ(cut_out_tables(R"({"model":{"vocab":7}})")->vocab, "7");
  for (const char* json : {"", "[]", "{", R"({"model")", R"({"model":{}} x)", R"({"a":1,})"})
    EXPECT_FALSE(cut_out_tables(json)) << json;
}

}  // namespace
}  // namespace smoe
