#include "text/grammar/utf8_ranges.h"

#include <algorithm>

namespace smoe {
namespace {

struct CodeBlock {
  char32_t first;
  char32_t last;
  uint8_t bytes;
};

// Where the length of the form changes, and around the surrogates.
constexpr std::array<CodeBlock, 5> kCodeBlocks{{{0, 0x7f, 1},
                                                {0x80, 0x7ff, 2},
                                                {0x800, 0xd7ff, 3},
                                                {0xe000, 0xffff, 3},
                                                {0x10000, 0x10ffff, 4}}};
constexpr std::array<uint8_t, 5> kLeadMarks{0, 0, 0xc0, 0xe0, 0xf0};
constexpr unsigned kTrailBits = 6;

uint8_t byte_at(char32_t code_point, uint8_t bytes, uint8_t index) {
  const unsigned shift = kTrailBits * static_cast<unsigned>(bytes - 1 - index);
  const char32_t bits = code_point >> shift;
  if (index == 0) return static_cast<uint8_t>(bits | kLeadMarks[bytes]);
  return static_cast<uint8_t>(0x80 | (bits & 0x3f));
}

// Splits where the trailing bytes are not the full range below the first byte that differs.
void split(char32_t first, char32_t last, uint8_t bytes, std::vector<ByteRanges>& out) {
  for (uint8_t trail = 1; trail < bytes; ++trail) {
    const char32_t mask = (char32_t{1} << (kTrailBits * trail)) - 1;
    if ((first & ~mask) == (last & ~mask)) break;
    if ((first & mask) != 0) {
      split(first, first | mask, bytes, out);
      split((first | mask) + 1, last, bytes, out);
      return;
    }
    if ((last & mask) != mask) {
      split(first, (last & ~mask) - 1, bytes, out);
      split(last & ~mask, last, bytes, out);
      return;
    }
  }
  ByteRanges ranges;
  ranges.count = bytes;
  for (uint8_t i = 0; i < bytes; ++i)
    ranges.bytes.at(i) = {byte_at(first, bytes, i), byte_at(last, bytes, i)};
  out.push_back(ranges);
}

}  // namespace

std::vector<ByteRanges> utf8_ranges(const CharacterSet& characters) {
  std::vector<ByteRanges> out;
  for (const CodePointRange& range : characters) {
    for (const CodeBlock& block : kCodeBlocks) {
      const char32_t first = std::max(range.first, block.first);
      const char32_t last = std::min(range.last, block.last);
      if (first <= last) split(first, last, block.bytes, out);
    }
  }
  return out;
}

}  // namespace smoe
