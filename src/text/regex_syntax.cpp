#include "text/regex_syntax.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "text/utf8.h"

namespace smoe {
namespace {

constexpr int kMaxClassDepth = 16;

// PCRE2's `\s` has U+180E, its `\w` lacks marks, its `\d` is the same but spelled out as well.
constexpr std::string_view kSpaceItems =
    R"(\x09-\x0d\x20\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";
constexpr std::string_view kWordItems =
    R"(\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{b2}\x{b3}\x{b9}\x{bc}-\x{be}\x{24b6}-\x{24e9})"
    R"(\x{1f130}-\x{1f149}\x{1f150}-\x{1f169}\x{1f170}-\x{1f189})";
constexpr std::string_view kHexItems = "0-9A-Fa-f";
constexpr std::string_view kDigitItems = R"(\p{Nd})";

// General categories, as they may be spelled. PCRE2 knows the short names.
struct CategoryName {
  std::string_view spelled;
  std::string_view category;
};
constexpr auto kCategoryNames = std::to_array<CategoryName>({
    {"l", "L"},
    {"lu", "Lu"},
    {"ll", "Ll"},
    {"lt", "Lt"},
    {"lm", "Lm"},
    {"lo", "Lo"},
    {"m", "M"},
    {"mn", "Mn"},
    {"mc", "Mc"},
    {"me", "Me"},
    {"n", "N"},
    {"nd", "Nd"},
    {"nl", "Nl"},
    {"no", "No"},
    {"p", "P"},
    {"pc", "Pc"},
    {"pd", "Pd"},
    {"ps", "Ps"},
    {"pe", "Pe"},
    {"pi", "Pi"},
    {"pf", "Pf"},
    {"po", "Po"},
    {"s", "S"},
    {"sm", "Sm"},
    {"sc", "Sc"},
    {"sk", "Sk"},
    {"so", "So"},
    {"z", "Z"},
    {"zs", "Zs"},
    {"zl", "Zl"},
    {"zp", "Zp"},
    {"c", "C"},
    {"cc", "Cc"},
    {"cf", "Cf"},
    {"co", "Co"},
    {"cn", "Cn"},
    {"letter", "L"},
    {"uppercaseletter", "Lu"},
    {"lowercaseletter", "Ll"},
    {"mark", "M"},
    {"number", "N"},
    {"punctuation", "P"},
    {"symbol", "S"},
    {"separator", "Z"},
    {"decimalnumber", "Nd"},
});

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
char to_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string hex_escape(char32_t code_point) {
  return fmt::format("\\x{{{:x}}}", static_cast<uint32_t>(code_point));
}

std::string range_items(std::span<const CodePointRange> ranges) {
  std::string items;
  for (const auto& range : ranges) items += hex_escape(range.first) + "-" + hex_escape(range.last);
  return items;
}

// What an escape or a bare character stands for.
struct Atom {
  enum class Kind { kCharacter, kSet, kAssertion } kind;
  char32_t code_point = 0;  // kCharacter
  std::string text;         // kSet: items of a bracket class; kAssertion: PCRE2 text
  bool negated = false;     // kSet
};

class Translator {
 public:
  explicit Translator(std::string_view pattern) : pattern_(pattern) {}

  Result<TranslatedRegex> run() {
    while (!at_end()) SMOE_DO(translate_one());
    if (open_.size() > 1) return malformed("an unclosed group");
    out_.append(open_.front().option_groups, ')');
    return TranslatedRegex{std::move(out_), std::move(mentioned_)};
  }

 private:
  bool at_end() const { return at_ >= pattern_.size(); }
  char peek(size_t ahead = 0) const {
    return at_ + ahead < pattern_.size() ? pattern_[at_ + ahead] : '\0';
  }
  bool take(std::string_view expected) {
    if (!pattern_.substr(at_).starts_with(expected)) return false;
    at_ += expected.size();
    return true;
  }
  Error unsupported(std::string_view construct) const {
    return {Code::kUnsupported,
            fmt::format("regular expression: {} at byte {} is not supported", construct, at_)};
  }
  Error malformed(std::string_view what) const {
    return {Code::kCorrupt, fmt::format("regular expression: {} at byte {}", what, at_)};
  }

  Status translate_one();
  Status open_group();
  Status close_group();
  Status translate_quantifier(size_t atom_begin);
  Result<std::optional<std::string>> read_interval();
  Result<Atom> read_escape(bool in_class);
  Result<Atom> read_property();
  Result<char32_t> read_hex(size_t fixed_digits);
  char32_t read_character();
  Result<std::string> read_class(int depth);
  Status read_class_range(char32_t first, std::string& items);

  void mention(char32_t first, char32_t last) {
    if (last >= 0x80) mentioned_.push_back({first, last});
  }
  Status check_case(char32_t last_of_range) const;
  Status add_character(char32_t character);

  std::string_view pattern_;
  size_t at_ = 0;
  std::string out_;
  struct Group {
    size_t begin;  // in out_
    bool ignores_case;
    size_t option_groups = 0;  // opened by (?i) and the like, closed with the group
  };
  std::vector<Group> open_{{0, false}};  // the first is the whole pattern
  char32_t last_character_ = 0;          // a literal that ended at last_character_end_ in out_
  size_t last_character_end_ = 0;
  std::vector<CodePointRange> mentioned_;
};

// A set outside brackets, or one operand of a class that has several.
std::string bracketed(std::string_view items, bool negated) {
  return fmt::format("[{}{}]", negated ? "^" : "", items);
}

char32_t Translator::read_character() {
  const Utf8Step step = utf8_step(pattern_, at_);
  at_ += step.bytes;
  return step.code_point;
}

// Oniguruma folds "ss" and U+00DF together and the like, PCRE2 only one character with another.
Status Translator::check_case(char32_t last_of_range) const {
  if (open_.back().ignores_case && last_of_range >= 0x80)
    return unsupported("a character beyond ASCII whose case is ignored");
  return {};
}

Status Translator::add_character(char32_t character) {
  SMOE_DO(check_case(character));
  const bool follows = last_character_end_ == out_.size() && last_character_ < 0x80;
  if (open_.back().ignores_case && follows) {
    const std::string pair = {to_lower(static_cast<char>(last_character_)),
                              to_lower(static_cast<char>(character))};
    for (const std::string_view ligature : {"ss", "st", "ff", "fi", "fl"})
      if (pair == ligature)
        return unsupported(fmt::format("\"{}\" where case is ignored", ligature));
  }
  mention(character, character);
  // A letter stays itself to keep the pattern readable; `{`, `]` and the like must be literals.
  const bool plain = character < 0x80 && (is_letter(static_cast<char>(character)) ||
                                          is_digit(static_cast<char>(character)));
  const size_t begin = out_.size();
  out_ += plain ? std::string(1, static_cast<char>(character)) : hex_escape(character);
  last_character_ = character;
  last_character_end_ = out_.size();
  return translate_quantifier(begin);
}

Status Translator::translate_one() {
  const size_t begin = out_.size();
  switch (peek()) {
    case '(':
      return open_group();
    case ')':
      return close_group();
    case '|':
      ++at_;
      out_ += '|';
      return {};
    case '[': {
      SMOE_TRY(const std::string set, read_class(0));
      out_ += set;
      return translate_quantifier(begin);
    }
    case '.':
      ++at_;
      out_ += '.';
      return translate_quantifier(begin);
    case '^':  // Ruby's anchors are those of lines, as PCRE2's are with PCRE2_MULTILINE
    case '$':
      out_ += pattern_[at_++];
      return {};
    case '*':
    case '+':
    case '?':
      return malformed("a quantifier without something to repeat");
    case '\\': {
      SMOE_TRY(const Atom atom, read_escape(false));
      if (atom.kind == Atom::Kind::kAssertion) {
        out_ += atom.text;
        return {};
      }
      if (atom.kind == Atom::Kind::kCharacter) return add_character(atom.code_point);
      out_ += bracketed(atom.text, atom.negated);
      return translate_quantifier(begin);
    }
    default:
      return add_character(read_character());
  }
}

Status Translator::open_group() {
  Group group{out_.size(), open_.back().ignores_case};
  for (const std::string_view opening : {"(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>"}) {
    if (!take(opening)) continue;
    out_ += opening;
    open_.push_back(group);
    return {};
  }
  if (!take("(?")) {
    ++at_;
    out_ += "(?:";  // nothing refers to a capture
    open_.push_back(group);
    return {};
  }
  std::string options;
  bool on = true;
  for (; peek() == 'i' || peek() == 'm' || peek() == '-'; ++at_) {
    options += peek() == 'm' ? 's' : peek();  // Ruby's m lets a dot match newlines
    if (peek() == 'i') group.ignores_case = on;
    on = on && peek() != '-';
  }
  if (!options.empty() && take(":")) {
    out_ += fmt::format("(?{}:", options);
    open_.push_back(group);
    return {};
  }
  if (!options.empty() && take(")")) {
    // In Ruby a(?i)b|c is a(?i:b|c): the option takes in the alternatives that follow.
    out_ += fmt::format("(?{}:", options);
    ++open_.back().option_groups;
    open_.back().ignores_case = group.ignores_case;
    return {};
  }
  return unsupported("a group of this kind");
}

Status Translator::close_group() {
  if (open_.size() == 1) return malformed("an unmatched )");
  ++at_;
  const Group group = open_.back();
  open_.pop_back();
  out_.append(group.option_groups + 1, ')');
  return translate_quantifier(group.begin);
}

// {n}, {n,}, {,m} or {n,m}; nothing when the brace is a literal.
Result<std::optional<std::string>> Translator::read_interval() {
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

Status Translator::translate_quantifier(size_t atom_begin) {
  for (bool repeated = false;; repeated = true) {
    std::string quantifier;
    bool interval = false;
    if (peek() == '*' || peek() == '+' || peek() == '?') {
      quantifier = pattern_[at_++];
    } else if (peek() == '{') {
      SMOE_TRY(const auto counts, read_interval());
      if (!counts) return {};
      quantifier = *counts;
      interval = true;
    } else {
      return {};
    }
    if (repeated) {
      out_.insert(atom_begin, "(?:");
      out_ += ')';
    }
    // In Ruby a plus after {n,m} repeats it, and a question mark after {n} makes it optional.
    const bool fixed = interval && quantifier.find(',') == std::string::npos;
    const bool lazy = peek() == '?' && !fixed;
    const bool possessive = peek() == '+' && !interval;
    if (lazy || possessive) quantifier += pattern_[at_++];
    out_ += quantifier;
  }
}

Result<char32_t> Translator::read_hex(size_t fixed_digits) {
  size_t end = at_;
  while (end < pattern_.size() && end - at_ < (fixed_digits == 0 ? 8 : fixed_digits) &&
         (is_digit(pattern_[end]) ||
          (to_lower(pattern_[end]) >= 'a' && to_lower(pattern_[end]) <= 'f')))
    ++end;
  uint32_t value = 0;
  std::from_chars(pattern_.data() + at_, pattern_.data() + end, value, 16);
  const bool complete = fixed_digits == 0 ? end > at_ : end - at_ == fixed_digits;
  if (!complete || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff))
    return malformed("a code point that is none");
  at_ = end;
  return static_cast<char32_t>(value);
}

Result<Atom> Translator::read_property() {
  const bool upper = pattern_[at_ - 1] == 'P';
  if (!take("{")) return malformed("a property without braces");
  const bool caret = take("^");
  const size_t end = pattern_.find('}', at_);
  if (end == std::string_view::npos) return malformed("a property without its closing brace");
  std::string name;
  for (const char c : pattern_.substr(at_, end - at_))
    if (c != ' ' && c != '_' && c != '-') name += to_lower(c);
  const bool negated = upper != caret;
  const auto* category =
      std::find_if(kCategoryNames.begin(), kCategoryNames.end(),
                   [&](const CategoryName& each) { return each.spelled == name; });
  const auto script = script_ranges(name);
  if (category != kCategoryNames.end()) {
    const bool cased =
        category->category == "Lu" || category->category == "Ll" || category->category == "Lt";
    if (cased && open_.back().ignores_case)
      return unsupported("a case property where case is ignored");
    at_ = end + 1;
    return Atom{Atom::Kind::kSet, 0,
                fmt::format("\\{}{{{}}}", negated ? 'P' : 'p', category->category), false};
  }
  if (!script.empty()) {
    at_ = end + 1;
    mentioned_.insert(mentioned_.end(), script.begin(), script.end());
    return Atom{Atom::Kind::kSet, 0, range_items(script), negated};
  }
  return unsupported(fmt::format("property {{{}}}", pattern_.substr(at_, end - at_)));
}

Result<Atom> Translator::read_escape(bool in_class) {
  ++at_;  // the backslash
  if (at_end()) return malformed("a backslash at the end");
  const auto set = [](std::string_view items, bool negated) {
    return Atom{Atom::Kind::kSet, 0, std::string(items), negated};
  };
  const auto character = [](char32_t code_point) {
    return Atom{Atom::Kind::kCharacter, code_point, {}, false};
  };
  const auto assertion = [](std::string text) {
    return Atom{Atom::Kind::kAssertion, 0, std::move(text), false};
  };
  const char letter = peek();
  if (!is_letter(letter) && !is_digit(letter)) return character(read_character());
  ++at_;
  switch (letter) {
    case 's':
    case 'S':
      return set(kSpaceItems, letter == 'S');
    case 'd':
    case 'D':
      return set(kDigitItems, letter == 'D');
    case 'h':
    case 'H':
      return set(kHexItems, letter == 'H');
    case 'w':
    case 'W':
      return set(kWordItems, letter == 'W');
    case 'p':
    case 'P':
      return read_property();
    case 'n':
      return character('\n');
    case 'r':
      return character('\r');
    case 't':
      return character('\t');
    case 'f':
      return character('\f');
    case 'v':
      return character('\v');
    case 'a':
      return character('\a');
    case 'e':
      return character(0x1b);
    case 'u': {
      SMOE_TRY(const char32_t value, read_hex(4));
      return character(value);
    }
    case 'x': {
      const bool braces = take("{");
      SMOE_TRY(const char32_t value, read_hex(braces ? 0 : 2));
      if (braces && !take("}")) return malformed("\\x{ without its closing brace");
      if (!braces && value >= 0x80) return unsupported("a byte that is no character");
      return character(value);
    }
    default:
      break;
  }
  if (!in_class) {
    const std::string word = bracketed(kWordItems, false);
    if (letter == 'A' || letter == 'z') return assertion(fmt::format("(?:\\{})", letter));
    if (letter == 'b') return assertion(fmt::format("(?:(?<={0})(?!{0})|(?<!{0})(?={0}))", word));
    if (letter == 'B') return assertion(fmt::format("(?:(?<={0})(?={0})|(?<!{0})(?!{0}))", word));
  }
  return unsupported(fmt::format("escape \\{}", letter));
}

// The second half of a-b in brackets; at_ is behind the hyphen.
Status Translator::read_class_range(char32_t first, std::string& items) {
  char32_t last = 0;
  if (peek() == '\\') {
    SMOE_TRY(const Atom atom, read_escape(true));
    if (atom.kind != Atom::Kind::kCharacter) return malformed("a range that ends in a class");
    last = atom.code_point;
  } else {
    last = read_character();
  }
  if (last < first) return malformed("a range that runs backwards");
  SMOE_DO(check_case(last));
  mention(first, last);
  items += hex_escape(first) + "-" + hex_escape(last);
  return {};
}

// Reads [...] with nested classes (a union) and && (an intersection), which PCRE2 lacks. Gives a
// pattern for one character: a plain class where it can, else lookaheads over such classes.
Result<std::string> Translator::read_class(int depth) {
  if (depth > kMaxClassDepth) return unsupported("a class nested this deeply");
  ++at_;  // [
  const bool negated = take("^");
  std::string items;
  std::vector<std::string> nested;    // of the current operand of &&
  std::vector<std::string> operands;  // before it
  const auto operand = [&]() {
    std::vector<std::string> parts = nested;
    if (!items.empty()) parts.insert(parts.begin(), bracketed(items, false));
    if (parts.size() == 1) return parts.front();
    return fmt::format("(?:{})", fmt::join(parts, "|"));
  };
  const bool bracket_first = peek() == ']';  // []a] is one of ] and a
  for (bool first = true; first || peek() != ']'; first = false) {
    if (at_end()) return malformed("a class without its closing bracket");
    if (first && peek() == ']' && !bracket_first) break;
    if (pattern_.substr(at_).starts_with("[:")) return unsupported("a POSIX bracket");
    if (peek() == '[') {
      SMOE_TRY(std::string inner, read_class(depth + 1));
      nested.push_back(std::move(inner));
      continue;
    }
    if (take("&&")) {
      if (items.empty() && nested.empty()) return unsupported("&& without a left side");
      operands.push_back(operand());
      items.clear();
      nested.clear();
      continue;
    }
    Atom atom{Atom::Kind::kCharacter, 0, {}, false};
    if (peek() == '\\') {
      SMOE_TRY(atom, read_escape(true));
    } else {
      atom.code_point = read_character();
    }
    const bool range = peek() == '-' && peek(1) != ']' && peek(1) != '\0';
    if (atom.kind == Atom::Kind::kSet) {
      if (range) return unsupported("a range that begins with a class");
      if (atom.negated) {
        nested.push_back(bracketed(atom.text, true));
      } else {
        items += atom.text;
      }
    } else if (range) {
      if (peek(1) == '[') return unsupported("a range that ends in a class");
      ++at_;
      SMOE_DO(read_class_range(atom.code_point, items));
    } else {
      SMOE_DO(check_case(atom.code_point));
      mention(atom.code_point, atom.code_point);
      items += hex_escape(atom.code_point);
    }
  }
  ++at_;  // ]
  if (items.empty() && nested.empty()) return malformed("an empty class");
  if (operands.empty() && nested.empty()) return bracketed(items, negated);
  std::string all;
  for (const std::string& each : operands) all += fmt::format("(?={})", each);
  all += operand();
  if (negated) return fmt::format("(?:(?!{})[\\x{{0}}-\\x{{10ffff}}])", all);
  return fmt::format("(?:{})", all);
}

}  // namespace

Result<TranslatedRegex> translate_regex(std::string_view pattern) {
  return Translator(pattern).run();
}

std::string quote_regex(std::string_view text) {
  std::string quoted;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x80 && !is_letter(c) && !is_digit(c)) quoted += '\\';
    quoted += c;
  }
  return quoted;
}

}  // namespace smoe
