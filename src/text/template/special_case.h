// Letters whose upper or title case is more than one letter.
#pragma once

#include <string_view>

namespace smoe::jinja {

struct SpecialCase {
  char32_t letter;
  std::u32string_view upper;
  std::u32string_view title;
};

// nullptr when the letter has none.
const SpecialCase* special_case(char32_t letter);

}  // namespace smoe::jinja
