#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/rng.h"

namespace smoe {
namespace {

TEST(JsonWriter, WritesOneLineWithoutSpaces) {
  JsonWriter json;
  json.begin_object().member("a", 1).key("b").begin_array().value(true).null().value("x");
  json.begin_object().end_object().end_array().member("c", std::string("y")).end_object();
  EXPECT_EQ(json.text(), R"({"a":1,"b":[true,null,"x",{}],"c":"y"})");
}

TEST(JsonWriter, IndentsForPeople) {
  JsonWriter json(2);
  json.begin_object().member("a", 1).key("b").begin_array().value(2).end_array();
  json.key("c").begin_object().end_object().end_object();
  EXPECT_EQ(json.text(), "{\n  \"a\": 1,\n  \"b\": [\n    2\n  ],\n  \"c\": {}\n}");
}

TEST(JsonWriter, WritesNumbersThatReadBackTheSame) {
  JsonWriter json;
  json.begin_array()
      .value(std::numeric_limits<uint64_t>::max())
      .value(std::numeric_limits<int64_t>::min())
      .value(0.1)
      .value(0.1F)
      .value(1e300)
      .value(-0.0)
      .end_array();
  EXPECT_EQ(json.text(), "[18446744073709551615,-9223372036854775808,0.1,0.1,1e+300,-0]");
}

TEST(JsonWriter, WritesNullForWhatIsNoNumber) {
  JsonWriter json;
  json.begin_array().value(INFINITY).value(std::nan("")).value(-HUGE_VAL).end_array();
  EXPECT_EQ(json.text(), "[null,null,null]");
}

// traps 13: bytes that are no UTF-8 must never make an answer invalid.
TEST(JsonWriter, ReplacesBytesThatAreNoUtf8) {
  EXPECT_EQ(json_quote("a\xe2'b"), "\"a\ufffd'b\"");
  EXPECT_EQ(json_quote("\xf0\x9f\x98"), "\"\ufffd\ufffd\ufffd\"");
  EXPECT_EQ(json_quote("\xc0\xaf"), "\"\ufffd\ufffd\"");
  EXPECT_EQ(json_quote("\xed\xa0\x80"), "\"\ufffd\ufffd\ufffd\"");
  EXPECT_EQ(json_quote("\U0001F638\u20ac"), "\"\U0001F638\u20ac\"");
}

TEST(JsonWriter, EscapesQuotesAndControls) {
  EXPECT_EQ(json_quote(std::string_view("\"\\\n\r\t\0\x1f\x7f/", 9)),
            R"("\"\\\n\r\t\u0000\u001f\u007f/")");
}

TEST(JsonWriter, MakesValidJsonOfAnyBytes) {
  Rng rng(3);
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (uint64_t left = rng.below(12); left > 0; --left)
      text += static_cast<char>(rng.below(3) == 0 ? rng.below(128) : 128 + rng.below(128));
    const std::string quoted = json_quote(text);
    ASSERT_TRUE(nlohmann::json::accept(quoted)) << quoted;
    const auto read = Json::parse(quoted);
    ASSERT_TRUE(read);
    if (is_utf8(text)) {
      ASSERT_EQ(*read->as_string(), text);
    }
  }
}

TEST(JsonWriterDeathTest, StopsWhereAMemberLacksItsKey) {
  EXPECT_DEATH(JsonWriter().begin_object().value(1), "internal error");
  EXPECT_DEATH(JsonWriter().begin_array().key("a"), "internal error");
  EXPECT_DEATH(JsonWriter().begin_array().end_object(), "internal error");
}

}  // namespace
}  // namespace smoe
