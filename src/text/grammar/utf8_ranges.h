// Ranges of characters as ranges of the bytes of their UTF-8 forms.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "text/grammar/rules.h"

namespace smoe {

struct ByteRange {
  uint8_t first;
  uint8_t last;
  friend bool operator==(ByteRange, ByteRange) = default;
};

// One to four byte ranges in a row.
struct ByteRanges {
  std::array<ByteRange, 4> bytes{};
  uint8_t count = 0;
  std::span<const ByteRange> all() const { return {bytes.data(), count}; }
};

// Sequences that together match the UTF-8 of exactly these characters; surrogates match nothing.
std::vector<ByteRanges> utf8_ranges(const CharacterSet& characters);

}  // namespace smoe
