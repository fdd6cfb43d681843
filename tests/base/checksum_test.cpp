#include "base/checksum.h"

#include <gtest/gtest.h>

namespace smoe {
namespace {

TEST(Checksum, IsXxh3WithTheReferencesValues) {
  EXPECT_EQ(xxh3_64(std::string_view()), 0x2d06800538d394c2U);
  EXPECT_EQ(xxh3_64("a"), 0xe6c632b61e964e1fU);
  EXPECT_EQ(xxh3_64("abc"), 0x78af5f94892f3950U);
}

TEST(Checksum, IsTheSameWhetherTheDataComesWholeOrInPieces) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += static_cast<char>(i * 31);
  for (const size_t piece : {1U, 7U, 256U, 1024U, 4999U}) {
    Checksum checksum;
    for (size_t at = 0; at < text.size(); at += piece)
      checksum.add(std::string_view(text).substr(at, piece));
    EXPECT_EQ(checksum.value(), xxh3_64(text)) << piece;
  }
}

TEST(ChecksumText, HasSixteenDigitsAndReadsBack) {
  EXPECT_EQ(checksum_text(0x1f), "000000000000001f");
  EXPECT_EQ(parse_checksum("000000000000001f"), 0x1fU);
  EXPECT_EQ(parse_checksum("ffffffffffffffff"), 0xffffffffffffffffU);
}

TEST(ChecksumText, HasOneSpellingOnly) {
  for (const char* text : {"", "1f", "000000000000001F", "00000000000001f ", "0x0000000000001f",
                           "0000000000000001f", "-00000000000001f", "000000000000001g"})
    EXPECT_EQ(parse_checksum(text), std::nullopt) << text;
}

}  // namespace
}  // namespace smoe
