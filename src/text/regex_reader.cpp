#include "text/regex_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "text/utf8.h"

namespace smoe {
namespace {

// PCRE2's `\s` has U+180E and its `\w` lacks marks, so that all of these are spelled out.
constexpr std::string_view kWordItems =
    R"(\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{b2}\x{b3}\x{b9}\x{bc}-\x{be}\x{24b6}-\x{24e9})"
    R"(\x{1f130}-\x{1f149}\x{1f150}-\x{1f169}\x{1f170}-\x{1f189})";
struct SetEscape {
  char letter;  // its capital stands for all other characters
  std::string_view items;
};
constexpr auto kSetEscapes = std::to_array<SetEscape>({
    {'s', R"(\x09-\x0d\x20\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f})"
          R"(\x{205f}\x{3000})"},
    {'d', R"(\p{Nd})"},
    {'h', "0-9A-Fa-f"},
    {'w', kWordItems},
});

struct CharacterEscape {
  char letter;
  char32_t code_point;
};
constexpr auto kCharacterEscapes = std::to_array<CharacterEscape>(
    {{'n', '\n'}, {'r', '\r'}, {'t', '\t'}, {'f', '\f'}, {'v', '\v'}, {'a', '\a'}, {'e', 0x1b}});

// General categories as they may be spelled, without case, blanks and hyphens.
struct CategoryName {
  std::string_view spelled;
  std::string_view category;
};
// clang-format off
constexpr auto kCategoryNames = std::to_array<CategoryName>({
    {"l", "L"}, {"lu", "Lu"}, {"ll", "Ll"}, {"lt", "Lt"}, {"lm", "Lm"}, {"lo", "Lo"},
    {"m", "M"}, {"mn", "Mn"}, {"mc", "Mc"}, {"me", "Me"}, {"n", "N"}, {"nd", "Nd"},
    {"nl", "Nl"}, {"no", "No"}, {"p", "P"}, {"pc", "Pc"}, {"pd", "Pd"}, {"ps", "Ps"},
    {"pe", "Pe"}, {"pi", "Pi"}, {"pf", "Pf"}, {"po", "Po"}, {"s", "S"}, {"sm", "Sm"},
    {"sc", "Sc"}, {"sk", "Sk"}, {"so", "So"}, {"z", "Z"}, {"zs", "Zs"}, {"zl", "Zl"},
    {"zp", "Zp"}, {"c", "C"}, {"cc", "Cc"}, {"cf", "Cf"}, {"co", "Co"}, {"cn", "Cn"},
    {"letter", "L"}, {"uppercaseletter", "Lu"}, {"lowercaseletter", "Ll"}, {"mark", "M"},
    {"number", "N"}, {"punctuation", "P"}, {"symbol", "S"}, {"separator", "Z"},
    {"decimalnumber", "Nd"},
});
// clang-format on

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
char to_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
bool is_hex_digit(char c) { return is_digit(c) || (to_lower(c) >= 'a' && to_lower(c) <= 'f'); }

std::string range_items(std::span<const CodePointRange> ranges) {
  std::string items;
  for (const CodePointRange& range : ranges)
    items += escaped_character(range.first) + "-" + escaped_character(range.last);
  return items;
}

RegexAtom character_atom(char32_t code_point) {
  return {.kind = RegexAtom::Kind::kCharacter, .code_point = code_point};
}

}  // namespace

std::string escaped_character(char32_t code_point) {
  return fmt::format("\\x{{{:x}}}", static_cast<uint32_t>(code_point));
}

std::string bracketed(std::string_view items, bool negated) {
  return fmt::format("[{}{}]", negated ? "^" : "", items);
}

Error RegexReader::unsupported(std::string_view construct) const {
  return {Code::kUnsupported,
          fmt::format("regular expression: {} at byte {} is not supported", construct, at_)};
}

Error RegexReader::malformed(std::string_view what) const {
  return {Code::kCorrupt, fmt::format("regular expression: {} at byte {}", what, at_)};
}

bool RegexReader::take(std::string_view expected) {
  if (!sees(expected)) return false;
  at_ += expected.size();
  return true;
}

char32_t RegexReader::character() {
  const Utf8Step step = utf8_step(pattern_, at_);
  at_ += step.bytes;
  return step.code_point;
}

Result<RegexAtom> RegexReader::escape(bool in_class) {
  ++at_;
  if (at_end()) return malformed("a backslash at the end");
  if (!is_letter(peek()) && !is_digit(peek())) return character_atom(character());
  const char letter = next();
  for (const SetEscape& each : kSetEscapes)
    if (each.letter == to_lower(letter))
      return RegexAtom{.kind = RegexAtom::Kind::kSet,
                       .text = std::string(each.items),
                       .negated = letter != each.letter};
  for (const CharacterEscape& each : kCharacterEscapes)
    if (each.letter == letter) return character_atom(each.code_point);
  if (letter == 'p' || letter == 'P') return property(letter == 'P');
  if (letter == 'u') {
    SMOE_TRY(const char32_t value, hex(4));
    return character_atom(value);
  }
  if (letter == 'x') {
    const bool braces = take("{");
    SMOE_TRY(const char32_t value, hex(braces ? 0 : 2));
    if (braces && !take("}")) return malformed("\\x{ without its closing brace");
    if (!braces && value >= 0x80) return unsupported("a byte that is no character");
    return character_atom(value);
  }
  RegexAtom assertion{.kind = RegexAtom::Kind::kAssertion};
  const std::string word = bracketed(kWordItems, false);
  if (letter == 'A' || letter == 'z') assertion.text = fmt::format("(?:\\{})", letter);
  if (letter == 'b') assertion.text = fmt::format("(?:(?<={0})(?!{0})|(?<!{0})(?={0}))", word);
  if (letter == 'B') assertion.text = fmt::format("(?:(?<={0})(?={0})|(?<!{0})(?!{0}))", word);
  if (in_class || assertion.text.empty()) return unsupported(fmt::format("escape \\{}", letter));
  return assertion;
}

Result<RegexAtom> RegexReader::property(bool upper) {
  if (!take("{")) return malformed("a property without braces");
  const bool negated = take("^") != upper;
  const size_t end = pattern_.find('}', at_);
  if (end == std::string_view::npos) return malformed("a property without its closing brace");
  std::string name;
  for (const char c : pattern_.substr(at_, end - at_))
    if (c != ' ' && c != '_' && c != '-') name += to_lower(c);
  RegexAtom set{.kind = RegexAtom::Kind::kSet};
  const auto* category =
      std::find_if(kCategoryNames.begin(), kCategoryNames.end(),
                   [&](const CategoryName& each) { return each.spelled == name; });
  if (category != kCategoryNames.end()) {
    set.text = fmt::format("\\{}{{{}}}", negated ? 'P' : 'p', category->category);
    set.cased =
        category->category == "Lu" || category->category == "Ll" || category->category == "Lt";
  } else {
    set.ranges = script_ranges(name);
    set.text = range_items(set.ranges);
    set.negated = negated;
  }
  if (set.text.empty())
    return unsupported(fmt::format("property {{{}}}", pattern_.substr(at_, end - at_)));
  at_ = end + 1;
  return set;
}

Result<char32_t> RegexReader::hex(size_t fixed_digits) {
  constexpr size_t kMostDigits = 8;
  const size_t most = fixed_digits == 0 ? kMostDigits : fixed_digits;
  size_t end = at_;
  while (end < pattern_.size() && end - at_ < most && is_hex_digit(pattern_[end])) ++end;
  uint32_t value = 0;
  std::from_chars(pattern_.data() + at_, pattern_.data() + end, value, 16);
  const bool complete = fixed_digits == 0 ? end > at_ : end - at_ == fixed_digits;
  if (!complete || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff))
    return malformed("a code point that is none");
  at_ = end;
  return static_cast<char32_t>(value);
}

Result<std::optional<std::string>> RegexReader::interval() {
  const auto digits = [&](size_t from) {
    size_t end = from;
    while (end < pattern_.size() && is_digit(pattern_[end])) ++end;
    return pattern_.substr(from, end - from);
  };
  const std::string_view low = digits(at_ + 1);
  size_t end = at_ + 1 + low.size();
  std::string_view high = low;
  const bool comma = end < pattern_.size() && pattern_[end] == ',';
  if (comma) {
    high = digits(end + 1);
    end += 1 + high.size();
  }
  if (end >= pattern_.size() || pattern_[end] != '}' || (low.empty() && high.empty()))
    return std::optional<std::string>();
  if (low.size() > 4 || high.size() > 4) return unsupported("a repeat count of five digits");
  at_ = end + 1;
  return std::optional<std::string>(
      fmt::format("{{{}{}{}}}", low.empty() ? "0" : low, comma ? "," : "", comma ? high : ""));
}

}  // namespace smoe
