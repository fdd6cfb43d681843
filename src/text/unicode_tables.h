// The Unicode that tokenizers are defined by: version 16 for regular expressions, an older one for
// normalisation, as in the reference library. The system's PCRE2 and utf8proc have versions of
// their own; these tables say where theirs must not be used.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace smoe {

struct CodePointRange {
  char32_t first;
  char32_t last;
};

// General categories; only those that the tables need.
enum class Category : uint8_t { kLu, kLl, kLm, kLo, kMn, kMc, kNd, kNo, kPd, kPo, kSm, kSo, kCf };

// Characters whose category in Unicode 16 is not that of Unicode 14, ascending.
struct YoungRange {
  char32_t first;
  char32_t last;
  Category category;
};
std::span<const YoungRange> young_ranges();

// Characters with the same category in both, that can take the place of a young one in a match.
struct StandIn {
  Category category;
  char32_t code_point;
};
std::span<const StandIn> stand_ins();

// White_Space, which is what `\s` means.
bool is_space(char32_t code_point);

// Characters that are younger than the normalisation tables of the reference library: they neither
// decompose nor compose nor move there. `compatible`: in the forms NFKC and NFKD.
bool is_unknown_to_normalization(char32_t code_point, bool compatible);

// Appends the lower case of a character, which may be more than one character.
void append_lowercase(std::string& text, char32_t code_point);

// Regular expressions for one character that the reference takes for punctuation, for a number.
std::string_view punctuation_pattern();
std::string_view number_pattern();

// The characters of a script ("han", "hiragana", "katakana", "hangul"); empty for another name.
std::span<const CodePointRange> script_ranges(std::string_view name);

}  // namespace smoe
