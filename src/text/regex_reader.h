// Reads a regular expression of Oniguruma with Ruby's syntax piece by piece: what stands between
// the operators.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "text/unicode_tables.h"

namespace smoe {

// What an escape or a bare character stands for.
struct RegexAtom {
  enum class Kind { kCharacter, kSet, kAssertion };
  Kind kind;
  char32_t code_point = 0;  // kCharacter
  std::string text = {};    // kSet: items of a PCRE2 class; kAssertion: PCRE2 text
  bool negated = false;     // kSet: all but the items
  bool cased = false;       // kSet: upper, lower or title case letters alone
  std::span<const CodePointRange> ranges = {};  // kSet: what `text` mentions beyond ASCII
};

class RegexReader {
 public:
  // Needs valid UTF-8.
  explicit RegexReader(std::string_view pattern) : pattern_(pattern) {}

  bool at_end() const { return at_ >= pattern_.size(); }
  // '\0' behind the end.
  char peek(size_t ahead = 0) const {
    return at_ + ahead < pattern_.size() ? pattern_[at_ + ahead] : '\0';
  }
  bool sees(std::string_view expected) const { return pattern_.substr(at_).starts_with(expected); }
  bool take(std::string_view expected);
  // Needs a byte that is there.
  char next() { return pattern_[at_++]; }
  char32_t character();

  // Needs a backslash to come. Fails: kUnsupported, kCorrupt.
  Result<RegexAtom> escape(bool in_class);
  // {n}, {n,}, {,m} or {n,m} as PCRE2 writes it; nothing when the brace that comes is a literal.
  Result<std::optional<std::string>> interval();

  // "regular expression: CONSTRUCT at byte 7 is not supported"
  Error unsupported(std::string_view construct) const;
  Error malformed(std::string_view what) const;

 private:
  Result<RegexAtom> property(bool upper);
  Result<char32_t> hex(size_t fixed_digits);

  std::string_view pattern_;
  size_t at_ = 0;
};

// PCRE2 text for a character that means nothing but itself, also in brackets.
std::string escaped_character(char32_t code_point);
std::string bracketed(std::string_view items, bool negated);

}  // namespace smoe
