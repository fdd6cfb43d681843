#include "text/grammar/json_schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "text/grammar/support.h"

namespace smoe {
namespace {

using test::matches;
using test::schema;
using test::schema_refusal;
using ::testing::HasSubstr;

struct SchemaCase {
  std::string_view what;
  std::string_view schema;
  std::vector<std::string_view> in;
  std::vector<std::string_view> out;
};

class JsonSchema : public ::testing::TestWithParam<SchemaCase> {};

TEST_P(JsonSchema, MatchesWhatItSays) {
  const auto grammar = schema(GetParam().schema);
  for (const std::string_view text : GetParam().in) EXPECT_TRUE(matches(grammar, text)) << text;
  for (const std::string_view text : GetParam().out) EXPECT_FALSE(matches(grammar, text)) << text;
}

constexpr std::string_view kPerson =
    R"({"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer"},
        "tags":{"type":"array","items":{"type":"string"}}},"required":["name","tags"]})";
constexpr std::string_view kTree =
    R"({"$defs":{"node":{"type":"object","properties":{"value":{"type":"integer"},
        "next":{"anyOf":[{"$ref":"#/$defs/node"},{"type":"null"}]}},"required":["value","next"],
        "additionalProperties":false}},"$ref":"#/$defs/node"})";

INSTANTIATE_TEST_SUITE_P(
    Keywords, JsonSchema,
    ::testing::Values(
        SchemaCase{"anything",
                   "{}",
                   {"1", "null", R"({"a":[1,2.5e3,"x"]})", "[]", "-0", "\"é\\n\""},
                   {"", "nul", "{a:1}", "01", "[1,]", "\"\n\"", R"("\ud800")", "1 2"}},
        SchemaCase{"string",
                   R"({"type":"string"})",
                   {R"("")", R"("a\"b")", R"("\u00e9")"},
                   {"1", R"("a)", R"("\x")"}},
        SchemaCase{"types", R"({"type":["string","null"]})", {R"("a")", "null"}, {"1", "[]"}},
        SchemaCase{"object",
                   kPerson,
                   {R"({"name":"a","age":1,"tags":[]})", R"({"name":"a","tags":["x","y"]})",
                    "{\n  \"name\": \"a\",\n  \"tags\": []\n}"},
                   {R"({"name":"a"})", R"({"age":1,"name":"a","tags":[]})",
                    R"({"name":"a","tags":[],"x":1})", R"({"name":"a","age":1.5,"tags":[]})",
                    R"({,"name":"a","tags":[]})"}},
        SchemaCase{"optional members",
                   R"({"properties":{"a":{"const":1},"b":{"const":2},"c":{"const":3}}})",
                   {"{}", R"({"a":1})", R"({"b":2})", R"({"a":1,"c":3})", R"({"b":2,"c":3})"},
                   {R"({"b":2,"a":1})", R"({"a":1,"a":1})", R"({"a":1,})"}},
        SchemaCase{
            "open object",
            R"({"type":"object","properties":{"ab":{"type":"integer"}},"additionalProperties":{"type":"boolean"}})",
            {R"({"ab":1,"a":true})", R"({"abc":true,"b":false,"":true})"},
            {R"({"ab":true})", R"({"a":1})", R"({"a":true,"ab":1})", R"({"a":true,"ab":true})"}},
        SchemaCase{"map",
                   R"({"type":"object","additionalProperties":{"type":"integer"}})",
                   {"{}", R"({"x":1,"y":2})"},
                   {R"({"x":"y"})"}},
        SchemaCase{"required without properties",
                   R"({"type":"object","required":["k"]})",
                   {R"({"k":1})", R"({"k":[],"x":2})"},
                   {"{}", R"({"x":2})"}},
        SchemaCase{"any object", R"({"type":"object"})", {"{}", R"({"a":{"b":1}})"}, {"[]", "1"}},
        SchemaCase{"array",
                   R"({"type":"array","items":{"type":"integer"},"minItems":2,"maxItems":3})",
                   {"[1,2]", "[1, 2, 3]"},
                   {"[]", "[1]", "[1,2,3,4]", "[1,\"a\"]"}},
        SchemaCase{"empty array", R"({"type":"array","maxItems":0})", {"[]"}, {"[1]"}},
        SchemaCase{"tuple",
                   R"({"type":"array","prefixItems":[{"type":"integer"},{"type":"string"}]})",
                   {R"([1,"a"])"},
                   {"[1]", R"([1,"a",2])", "[]"}},
        SchemaCase{"tuple and rest",
                   R"({"prefixItems":[{"const":"x"}],"items":{"type":"integer"},"maxItems":3})",
                   {R"(["x"])", R"(["x",1,2])"},
                   {R"(["x",1,2,3])", R"([1])", R"(["x","y"])"}},
        SchemaCase{"enum",
                   R"({"enum":["red",1,null,{"a":[1]}]})",
                   {R"("red")", "1", "null", R"({"a":[1]})"},
                   {R"("green")", "2"}},
        SchemaCase{"typed enum",
                   R"({"type":"string","enum":["a","b\"c",3]})",
                   {R"("a")", R"("b\"c")"},
                   {"3"}},
        SchemaCase{"const", R"({"const":"x y"})", {R"("x y")"}, {R"("x")"}},
        SchemaCase{"any of",
                   R"({"anyOf":[{"type":"integer"},{"type":"string","maxLength":1}]})",
                   {"1", R"("a")", R"("")"},
                   {R"("ab")", "null"}},
        SchemaCase{
            "any of with more",
            R"({"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"anyOf":[{"required":["a"]},{"required":["b"]}]})",
            {R"({"a":1})", R"({"b":1})", R"({"a":1,"b":2})"},
            {"{}"}},
        SchemaCase{"one of", R"({"oneOf":[{"const":1},{"const":"x"}]})", {"1", R"("x")"}, {"2"}},
        SchemaCase{
            "all of",
            R"({"allOf":[{"properties":{"a":{"type":"integer"}},"required":["a"]},{"properties":{"b":{"type":"string"}},"required":["b"]}]})",
            {R"({"a":1,"b":"x"})"},
            {R"({"a":1})", R"({"b":"x"})"}},
        SchemaCase{"all of one value",
                   R"({"allOf":[{"type":"integer","minimum":3},{"maximum":5}]})",
                   {"3", "5"},
                   {"2", "6"}},
        SchemaCase{"reference",
                   kTree,
                   {R"({"value":1,"next":null})", R"({"value":1,"next":{"value":2,"next":null}})"},
                   {R"({"value":1})", R"({"value":1,"next":1})"}},
        SchemaCase{"reference to the root",
                   R"({"type":"array","items":{"$ref":"#"}})",
                   {"[]", "[[],[[]]]"},
                   {"[1]"}},
        SchemaCase{"lengths",
                   R"({"type":"string","minLength":2,"maxLength":3})",
                   {R"("ab")", R"("éé\n")", R"("\u0041bc")"},
                   {R"("a")", R"("abcd")"}},
        SchemaCase{"pattern",
                   R"({"type":"string","pattern":"^[A-Z]{2}\\d$"})",
                   {R"("AB1")"},
                   {R"("ab1")", R"("AB12")"}},
        SchemaCase{"date",
                   R"({"type":"string","format":"date"})",
                   {R"("2024-02-28")"},
                   {R"("2024-02-30")", R"("2024-13-01")", R"("24-01-01")"}},
        SchemaCase{"date-time",
                   R"({"type":"string","format":"date-time"})",
                   {R"("2024-12-31T23:59:59Z")", R"("2024-12-31T00:00:00.25+02:00")"},
                   {R"("2024-12-31")", R"("2024-12-31T24:00:00Z")"}},
        SchemaCase{
            "time", R"({"type":"string","format":"time"})", {R"("23:59:59Z")"}, {R"("23:59")"}},
        SchemaCase{"uuid",
                   R"({"type":"string","format":"uuid"})",
                   {R"("123e4567-e89b-12d3-a456-426614174000")"},
                   {R"("123e4567")"}},
        SchemaCase{"unit interval",
                   R"({"type":"number","minimum":0,"maximum":1})",
                   {"0", "0.5", "1", "0.000001"},
                   {"1.5", "-0.5", "2", "1e1"}},
        SchemaCase{"open interval",
                   R"({"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1})",
                   {"0.5", "0.01"},
                   {"0", "0.0", "1"}},
        SchemaCase{"negative interval",
                   R"({"type":"number","minimum":-2,"exclusiveMaximum":0})",
                   {"-2", "-0.5", "-1.9"},
                   {"0", "-2.1", "-0", "1"}},
        SchemaCase{"nullable by type",
                   R"({"properties":{"a":{"type":["integer","null"]}},"required":["a"]})",
                   {R"({"a":null})", R"({"a":3})"},
                   {"{}"}},
        SchemaCase{
            "names that need escapes",
            R"({"properties":{"a\"\n":{"const":1}},"required":["a\"\n"],"additionalProperties":true})",
            {R"({"a\"\n":1,"b":2})"},
            {R"({"b":2})"}},
        SchemaCase{
            "true and annotations",
            R"({"title":"T","description":"d","default":1,"examples":[2],"$schema":"x","properties":{"a":true},"required":["a"]})",
            {R"({"a":[1]})"},
            {"{}"}}),
    [](const auto& instance) {
      std::string name(instance.param.what);
      for (char& byte : name)
        if (byte == ' ' || byte == '-') byte = '_';
      return name;
    });

TEST(IntegerSchema, AllowsExactlyTheNumbersBetweenItsBounds) {
  std::mt19937 random(11);
  for (int round = 0; round < 60; ++round) {
    const int span = round < 30 ? 40 : 3000;
    const auto pick = [&] {
      return static_cast<int>(random() % static_cast<unsigned>(span)) - span / 2;
    };
    int least = pick();
    int most = pick();
    if (least > most) std::swap(least, most);
    const auto grammar = schema(R"({"type":"integer","minimum":)" + std::to_string(least) +
                                R"(,"exclusiveMaximum":)" + std::to_string(most + 1) + "}");
    for (int number = least - 25; number <= most + 25; ++number)
      ASSERT_EQ(matches(grammar, std::to_string(number)), number >= least && number <= most)
          << least << " " << most << " " << number;
    EXPECT_FALSE(matches(grammar, "00"));
  }
}

TEST(IntegerSchema, TakesLargeBoundsAndHalfOpenOnes) {
  const auto large = schema(R"({"type":"integer","minimum":-1000000000000000000,"maximum":99})");
  EXPECT_TRUE(matches(large, "-1000000000000000000"));
  EXPECT_FALSE(matches(large, "-1000000000000000001"));
  EXPECT_FALSE(matches(large, "100"));
  const auto positive = schema(R"({"type":"integer","exclusiveMinimum":9.5})");
  EXPECT_TRUE(matches(positive, "10"));
  EXPECT_FALSE(matches(positive, "9"));
}

TEST(JsonSchemaRefusal, NamesTheKeywordAndItsPlace) {
  EXPECT_THAT(schema_refusal(R"({"properties":{"a":{"multipleOf":3}}})"),
              HasSubstr("at #/properties/a has the keyword 'multipleOf'"));
  EXPECT_THAT(schema_refusal(R"({"not":{}})"), HasSubstr("'not'"));
  EXPECT_THAT(schema_refusal(R"({"patternProperties":{}})"), HasSubstr("'patternProperties'"));
  EXPECT_THAT(schema_refusal(R"({"type":"array","uniqueItems":true})"), HasSubstr("'uniqueItems'"));
  EXPECT_THAT(schema_refusal(R"({"type":"text"})"), HasSubstr("type"));
  EXPECT_THAT(schema_refusal(R"({"type":"string","format":"color"})"), HasSubstr("'color'"));
  EXPECT_THAT(schema_refusal(R"g({"type":"string","pattern":"(?=a)"})g"),
              HasSubstr("looks around"));
  EXPECT_THAT(schema_refusal(R"({"$ref":"#/$defs/x"})"), HasSubstr("'#/$defs/x'"));
  EXPECT_THAT(schema_refusal(R"({"$ref":"http://x/y"})"), HasSubstr("within"));
  EXPECT_THAT(schema_refusal(R"({"type":"number","minimum":0.5})"), HasSubstr("not whole"));
  EXPECT_THAT(schema_refusal(R"({"type":"integer","minimum":5,"maximum":4})"),
              HasSubstr("no number"));
  EXPECT_THAT(schema_refusal(R"({"type":"array","minItems":5,"maxItems":4})"),
              HasSubstr("more items"));
  EXPECT_THAT(schema_refusal(R"({"properties":{"a":{}},"required":["b"]})"), HasSubstr("'b'"));
  EXPECT_THAT(schema_refusal(R"({"allOf":[{"type":"string"},{"type":"integer"}]})"),
              HasSubstr("no type"));
  EXPECT_THAT(schema_refusal(R"({"properties":{"a":false}})"), HasSubstr("false"));
  EXPECT_THAT(schema_refusal(R"({"type":"string","enum":[1]})"), HasSubstr("no value"));
}

TEST(JsonSchemaRefusal, EndlessReferencesAreSeen) {
  EXPECT_THAT(
      schema_refusal(
          R"({"$defs":{"a":{"anyOf":[{"$ref":"#/$defs/a"},{"type":"null"}]}},"$ref":"#/$defs/a"})"),
      HasSubstr("left recursion"));
  EXPECT_THAT(
      schema_refusal(
          R"({"$defs":{"a":{"type":"string","anyOf":[{"$ref":"#/$defs/a"}]}},"$ref":"#/$defs/a"})"),
      HasSubstr("its own alternatives"));
  std::string wide = R"({"allOf":[)";
  for (int i = 0; i < 20; ++i)
    wide += std::string(i == 0 ? "" : ",") +
            R"({"anyOf":[{"minLength":1},{"minLength":2},{"minLength":3},{"minLength":4}]})";
  EXPECT_THAT(schema_refusal(wide + "]}"), HasSubstr("too complex"));
}

// Draws bytes where the grammar allows several, until it may end.
std::string random_text(const std::shared_ptr<const Grammar>& grammar, std::mt19937& random) {
  Automaton automaton(grammar);
  StackSet at = automaton.start();
  std::string text;
  std::vector<uint8_t> choices;
  while (text.size() < 4000) {
    automaton.allow_work();
    choices.clear();
    for (unsigned byte = 0; byte < 256; ++byte)
      if (automaton.step(at, static_cast<uint8_t>(byte)) != Automaton::kDead)
        choices.push_back(static_cast<uint8_t>(byte));
    if (automaton.ends(at) && (choices.empty() || random() % 4 == 0)) return text;
    if (choices.empty()) return text + "<stuck>";
    uint8_t byte = choices[random() % choices.size()];
    // Closing is likelier than what random bytes make of it.
    for (const char close : {'"', '}', ']'})
      if (std::find(choices.begin(), choices.end(), static_cast<uint8_t>(close)) != choices.end() &&
          random() % 3 == 0)
        byte = static_cast<uint8_t>(close);
    text += static_cast<char>(byte);
    at = automaton.step(at, byte);
  }
  return "";
}

TEST(JsonSchemaText, OfAnySchemaIsJson) {
  std::mt19937 random(3);
  int texts = 0;
  for (const std::string_view each :
       {std::string_view("{}"), kPerson, kTree,
        std::string_view(
            R"({"type":"object","additionalProperties":{"type":["number","string"]}})"),
        std::string_view(
            R"({"type":"array","items":{"type":"string","pattern":"a[^b]\\s?"},"maxItems":4})")}) {
    const auto grammar = schema(each);
    for (int i = 0; i < 100; ++i) {
      const std::string text = random_text(grammar, random);
      if (text.empty()) continue;
      ++texts;
      ASSERT_TRUE(nlohmann::json::accept(text)) << text;
    }
  }
  EXPECT_GT(texts, 300);
}

}  // namespace
}  // namespace smoe
