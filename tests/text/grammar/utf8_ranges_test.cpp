#include "text/grammar/utf8_ranges.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "text/utf8.h"

namespace smoe {
namespace {

bool in_ranges(const std::vector<ByteRanges>& all, std::string_view bytes) {
  int matches = 0;
  for (const ByteRanges& ranges : all) {
    bool good = ranges.count == bytes.size();
    for (size_t i = 0; good && i < bytes.size(); ++i) {
      const auto byte = static_cast<uint8_t>(bytes[i]);
      good = byte >= ranges.bytes.at(i).first && byte <= ranges.bytes.at(i).last;
    }
    matches += good ? 1 : 0;
  }
  EXPECT_LE(matches, 1);
  return matches == 1;
}

TEST(Utf8Ranges, MatchExactlyTheCharactersOfTheSet) {
  std::mt19937 random(7);
  const std::vector<char32_t> edges{0,      0x7f,   0x80,    0x7ff,    0x800,  0xd7ff,
                                    0xe000, 0xffff, 0x10000, 0x10ffff, 0x3fff, 0x4000};
  for (int round = 0; round < 200; ++round) {
    const auto pick = [&] {
      const char32_t edge = edges[random() % edges.size()];
      const int32_t moved = static_cast<int32_t>(edge) + static_cast<int32_t>(random() % 200) - 100;
      return static_cast<char32_t>(std::clamp<int32_t>(moved, 0, 0x10ffff));
    };
    char32_t first = pick();
    char32_t last = pick();
    if (first > last) std::swap(first, last);
    const auto ranges = utf8_ranges({{first, last}});
    for (int probe = 0; probe < 200; ++probe) {
      char32_t character = pick();
      if (probe == 0) character = first;
      if (probe == 1) character = last;
      if (character >= 0xd800 && character <= 0xdfff) continue;
      std::string bytes;
      append_utf8(bytes, character);
      ASSERT_EQ(in_ranges(ranges, bytes), character >= first && character <= last)
          << std::hex << static_cast<uint32_t>(first) << " " << static_cast<uint32_t>(last) << " "
          << static_cast<uint32_t>(character);
    }
  }
}

TEST(Utf8Ranges, LeaveSurrogatesOut) {
  EXPECT_TRUE(utf8_ranges({{0xd800, 0xdfff}}).empty());
  EXPECT_FALSE(in_ranges(utf8_ranges({{0, 0x10ffff}}), "\xed\xa0\x80"));
}

TEST(CharacterSet, ComplementTwiceIsTheSet) {
  const CharacterSet set{{'a', 'z'}, {0x100, 0x200}};
  const CharacterSet twice = complement(complement(set));
  ASSERT_EQ(twice.size(), 2U);
  EXPECT_EQ(twice[0].first, U'a');
  EXPECT_EQ(twice[1].last, 0x200U);
}

}  // namespace
}  // namespace smoe
