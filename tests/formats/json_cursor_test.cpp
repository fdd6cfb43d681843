#include "formats/json_cursor.h"

#include <gtest/gtest.h>

namespace smoe {
namespace {

TEST(JsonCursor, WalksObjectsAndLists) {
  JsonCursor cursor(" { \"a\" : [ 1 , 20 ] } \n");
  ASSERT_TRUE(cursor.expect('{'));
  EXPECT_EQ(cursor.string(), "a");
  ASSERT_TRUE(cursor.expect(':'));
  ASSERT_TRUE(cursor.expect('['));
  EXPECT_EQ(cursor.number(), 1U);
  EXPECT_FALSE(cursor.take(']'));
  ASSERT_TRUE(cursor.take(','));
  EXPECT_EQ(cursor.number(), 20U);
  EXPECT_FALSE(cursor.at_end());
  EXPECT_TRUE(cursor.take(']'));
  EXPECT_TRUE(cursor.take('}'));
  EXPECT_TRUE(cursor.at_end());
}

TEST(JsonCursor, UnescapesStrings) {
  const auto text = [](std::string_view literal) { return JsonCursor(literal).string(); };
  EXPECT_EQ(text("\"\""), "");
  EXPECT_EQ(text(R"("a\"\\\/\b\f\n\r\t")"), "a\"\\/\b\f\n\r\t");
  EXPECT_EQ(text(R"("\u0041\u00e9\u20AC\ud83d\ude38")"), "A\u00e9\u20ac\U0001F638");
  EXPECT_EQ(text("\"\u20ac\""), "\u20ac");
}

TEST(JsonCursor, RefusesBadStrings) {
  for (const char* literal :
       {"", "a", "\"a", "\"\\", "\"\\x\"", "\"\\u12\"", "\"\\u12g4\"", "\"\\u+123\"", "\"\\ud83d\"",
        "\"\\ude38\"", "\"\\ud83d\\u0041\"", "\"\\ud83dx\"", "\"a\nb\"", "\"\\u"})
    EXPECT_FALSE(JsonCursor(literal).string()) << literal;
}

TEST(JsonCursor, ReadsWholeNumbersOnly) {
  EXPECT_EQ(JsonCursor("0").number(), 0U);
  EXPECT_EQ(JsonCursor(" 18446744073709551615").number(), 18446744073709551615U);
  for (const char* text : {"", "-1", "+1", "01", "00", "x", "18446744073709551616", "\"1\""})
    EXPECT_FALSE(JsonCursor(text).number()) << text;
  JsonCursor fraction("1.5");  // what follows is for the next expectation to refuse
  EXPECT_EQ(fraction.number(), 1U);
  EXPECT_FALSE(fraction.take(','));
}

TEST(JsonCursor, SaysWhereItStopped) {
  JsonCursor cursor("{  x");
  ASSERT_TRUE(cursor.take('{'));
  EXPECT_EQ(cursor.expect(',').error().message, "header byte 3: ',' expected");
}

}  // namespace
}  // namespace smoe
