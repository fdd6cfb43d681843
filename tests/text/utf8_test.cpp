#include "text/utf8.h"

#include <gtest/gtest.h>

#include "text/byte_alphabet.h"

namespace smoe {
namespace {

std::string repaired(std::string_view bytes) {
  std::string text;
  append_repaired(text, bytes);
  return text;
}

TEST(Utf8, EveryScalarValueIsWrittenAndReadBack) {
  for (char32_t code_point = 0; code_point < 0x110000; ++code_point) {
    if (code_point >= 0xd800 && code_point <= 0xdfff) continue;
    std::string text;
    append_utf8(text, code_point);
    const Utf8Step step = utf8_step(text, 0);
    ASSERT_TRUE(step.valid) << static_cast<uint32_t>(code_point);
    ASSERT_EQ(step.code_point, code_point);
    ASSERT_EQ(step.bytes, text.size());
    ASSERT_EQ(text.size(), utf8_length(code_point));
  }
}

TEST(Utf8, TheFirstInvalidByteIsFoundWhereverItStands) {
  EXPECT_EQ(first_invalid_utf8(""), std::nullopt);
  EXPECT_EQ(first_invalid_utf8("plain ASCII text, long enough for words"), std::nullopt);
  EXPECT_EQ(first_invalid_utf8("gr\xc3\xbc\xc3\x9f \xe4\xb8\xad \xf0\x9f\x98\x80"), std::nullopt);
  for (size_t before = 0; before < 24; ++before)
    EXPECT_EQ(first_invalid_utf8(std::string(before, 'a') + "\x80" + "tail tail"), before);
}

TEST(Utf8, OverlongFormsSurrogatesAndValuesTooLargeAreInvalid) {
  for (const char* bytes :
       {"\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xf0\x8f\xbf\xbf", "\xed\xa0\x80", "\xed\xbf\xbf",
        "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "\xfe"})
    EXPECT_EQ(first_invalid_utf8(bytes), 0u) << bytes;
}

TEST(Utf8, ABrokenCharacterBecomesOneReplacementAndAnImpossibleByteOneEach) {
  EXPECT_EQ(repaired("\xf0\x9f\x98"), "\ufffd");
  EXPECT_EQ(repaired("\xf0\x9f\x98 x"), "\ufffd x");
  EXPECT_EQ(repaired("\xe1\x80"
                     "A"),
            "\ufffdA");
  EXPECT_EQ(repaired("\xc0\x80"), "\ufffd\ufffd");
  EXPECT_EQ(repaired("\xed\xa0\x80"), "\ufffd\ufffd\ufffd");
  EXPECT_EQ(repaired("\xf0\x9f\xf0\x9f\x98\x80"), "\ufffd\U0001f600");
}

TEST(Utf8, OnlyACharacterThatCouldGoOnIsTruncated) {
  EXPECT_TRUE(utf8_step("\xf0", 0).truncated);
  EXPECT_TRUE(utf8_step("\xf0\x9f\x98", 0).truncated);
  EXPECT_FALSE(utf8_step("\xf0\x80", 0).truncated);
  EXPECT_FALSE(utf8_step("\xed\xa0", 0).truncated);
  EXPECT_FALSE(utf8_step("\xff", 0).truncated);
}

TEST(Utf8, ThePreviousCharacterIsFoundWhole) {
  const std::string text = "a\xc3\xa9\xf0\x9f\x98\x80";
  EXPECT_EQ(previous_character(text, 7), 3u);
  EXPECT_EQ(previous_character(text, 3), 1u);
  EXPECT_EQ(previous_character(text, 1), 0u);
}

std::string bytes_of_letters(std::string_view letters) {
  std::string bytes;
  append_bytes_of_letters(bytes, letters);
  return bytes;
}

TEST(ByteAlphabet, EveryByteHasALetterOfItsOwnThatLeadsBack) {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) {
    bytes.push_back(static_cast<char>(byte));
    EXPECT_EQ(byte_of_letter(letter_of_byte(static_cast<uint8_t>(byte))), byte);
  }
  std::string letters;
  append_byte_letters(letters, bytes);
  EXPECT_EQ(first_invalid_utf8(letters), std::nullopt);
  EXPECT_EQ(bytes_of_letters(letters), bytes);
  EXPECT_EQ(letter_of_byte(' '), U'\u0120');
  EXPECT_EQ(letter_of_byte('\n'), U'\u010a');
}

TEST(ByteAlphabet, ATokenWithACharacterOutsideTheAlphabetStandsForItself) {
  EXPECT_EQ(bytes_of_letters("a b"), "a b");
  EXPECT_EQ(bytes_of_letters("\xe4\xb8\xad"), "\xe4\xb8\xad");
  EXPECT_EQ(bytes_of_letters("\xc3\xa9"), "\xe9");
}

}  // namespace
}  // namespace smoe
