#include "text/regex_syntax.h"

#include <fmt/format.h>

#include <utility>

#include "text/regex_reader.h"

namespace smoe {
namespace {

constexpr int kMaxClassDepth = 16;

bool is_alphanumeric(char32_t c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

char to_lower(char32_t c) { return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c); }

// The operands of one bracket class, as PCRE2 patterns for one character.
struct ClassParts {
  std::string items;                  // of a plain class
  std::vector<std::string> nested;    // beside it, in the same operand of &&
  std::vector<std::string> operands;  // before it

  bool operand_is_empty() const { return items.empty() && nested.empty(); }

  std::string operand() const {
    if (nested.empty()) return bracketed(items, false);
    if (items.empty() && nested.size() == 1) return nested.front();
    std::string all = items.empty() ? "" : bracketed(items, false);
    for (const std::string& each : nested) all.append(all.empty() ? "" : "|").append(each);
    return fmt::format("(?:{})", all);
  }

  // A plain class where that is enough, else lookaheads over such classes.
  std::string pattern(bool negated) const {
    if (operands.empty() && nested.empty()) return bracketed(items, negated);
    std::string all;
    for (const std::string& each : operands) all += fmt::format("(?={})", each);
    all += operand();
    if (negated) return fmt::format("(?:(?!{})[\\x{{0}}-\\x{{10ffff}}])", all);
    return fmt::format("(?:{})", all);
  }
};

class Translator {
 public:
  explicit Translator(std::string_view pattern) : in_(pattern) {}

  Result<TranslatedRegex> run() {
    while (!in_.at_end()) SMOE_DO(translate_one());
    if (open_.size() > 1) return in_.malformed("an unclosed group");
    out_.append(open_.front().option_groups, ')');
    return TranslatedRegex{std::move(out_), std::move(mentioned_)};
  }

 private:
  Status translate_one();
  Status translate_escape();
  Status open_group();
  Status close_group();
  Status translate_quantifier(size_t atom_begin);
  Status add_character(char32_t character);
  Result<std::string> read_class(int depth);
  Status read_class_item(ClassParts& parts);
  Status mention_set(const RegexAtom& set);
  Status mention(char32_t first, char32_t last);

  RegexReader in_;
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

// Oniguruma folds "ss" and U+00DF together and the like, PCRE2 only one character with another.
Status Translator::mention(char32_t first, char32_t last) {
  if (last < 0x80) return {};
  if (open_.back().ignores_case)
    return in_.unsupported("a character beyond ASCII whose case is ignored");
  mentioned_.push_back({first, last});
  return {};
}

Status Translator::mention_set(const RegexAtom& set) {
  if (set.cased && open_.back().ignores_case)
    return in_.unsupported("a case property where case is ignored");
  mentioned_.insert(mentioned_.end(), set.ranges.begin(), set.ranges.end());
  return {};
}

Status Translator::add_character(char32_t character) {
  SMOE_DO(mention(character, character));
  if (open_.back().ignores_case && last_character_end_ == out_.size()) {
    const std::string pair = {to_lower(last_character_), to_lower(character)};
    for (const std::string_view folded : {"ss", "st", "ff", "fi", "fl"})
      if (pair == folded)
        return in_.unsupported(fmt::format("\"{}\" where case is ignored", folded));
  }
  const size_t begin = out_.size();
  // A letter stays itself to keep the pattern readable; `{`, `]` and the like must be literals.
  out_ += is_alphanumeric(character) ? std::string(1, static_cast<char>(character))
                                     : escaped_character(character);
  last_character_ = character;
  last_character_end_ = out_.size();
  return translate_quantifier(begin);
}

Status Translator::translate_one() {
  const size_t begin = out_.size();
  switch (in_.peek()) {
    case '(':
      return open_group();
    case ')':
      return close_group();
    case '[': {
      SMOE_TRY(const std::string set, read_class(0));
      out_ += set;
      return translate_quantifier(begin);
    }
    case '.':
      out_ += in_.next();
      return translate_quantifier(begin);
    case '|':
    case '^':  // Ruby's anchors are those of lines, as PCRE2's are with PCRE2_MULTILINE
    case '$':
      out_ += in_.next();
      return {};
    case '*':
    case '+':
    case '?':
      return in_.malformed("a quantifier without something to repeat");
    case '\\':
      return translate_escape();
    default:
      return add_character(in_.character());
  }
}

Status Translator::translate_escape() {
  const size_t begin = out_.size();
  SMOE_TRY(const RegexAtom atom, in_.escape(false));
  switch (atom.kind) {
    case RegexAtom::Kind::kCharacter:
      return add_character(atom.code_point);
    case RegexAtom::Kind::kAssertion:
      out_ += atom.text;
      return {};
    case RegexAtom::Kind::kSet:
      SMOE_DO(mention_set(atom));
      out_ += bracketed(atom.text, atom.negated);
      return translate_quantifier(begin);
  }
  return {};
}

Status Translator::open_group() {
  Group group{out_.size(), open_.back().ignores_case};
  for (const std::string_view opening : {"(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>"}) {
    if (!in_.take(opening)) continue;
    out_ += opening;
    open_.push_back(group);
    return {};
  }
  if (!in_.take("(?")) {
    in_.next();
    out_ += "(?:";  // nothing refers to a capture
    open_.push_back(group);
    return {};
  }
  std::string options;
  bool on = true;
  while (in_.peek() == 'i' || in_.peek() == 'm' || in_.peek() == '-') {
    const char option = in_.next();
    options += option == 'm' ? 's' : option;  // Ruby's m lets a dot match newlines
    if (option == 'i') group.ignores_case = on;
    on = on && option != '-';
  }
  if (options.empty() || (in_.peek() != ':' && in_.peek() != ')'))
    return in_.unsupported("a group of this kind");
  out_ += fmt::format("(?{}:", options);
  if (in_.next() == ':') {
    open_.push_back(group);
  } else {
    // In Ruby a(?i)b|c is a(?i:b|c): the option takes in the alternatives that follow.
    ++open_.back().option_groups;
    open_.back().ignores_case = group.ignores_case;
  }
  return {};
}

Status Translator::close_group() {
  if (open_.size() == 1) return in_.malformed("an unmatched )");
  in_.next();
  const Group group = open_.back();
  open_.pop_back();
  out_.append(group.option_groups + 1, ')');
  return translate_quantifier(group.begin);
}

Status Translator::translate_quantifier(size_t atom_begin) {
  for (bool repeated = false;; repeated = true) {
    std::string quantifier;
    bool interval = false;
    if (in_.peek() == '*' || in_.peek() == '+' || in_.peek() == '?') {
      quantifier = in_.next();
    } else if (in_.peek() == '{') {
      SMOE_TRY(const auto counts, in_.interval());
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
    const bool lazy = in_.peek() == '?' && !fixed;
    const bool possessive = in_.peek() == '+' && !interval;
    if (lazy || possessive) quantifier += in_.next();
    out_ += quantifier;
  }
}

// Reads [...] with nested classes (a union) and && (an intersection), which PCRE2 lacks. Gives a
// pattern for one character.
Result<std::string> Translator::read_class(int depth) {
  if (depth > kMaxClassDepth) return in_.unsupported("a class nested this deeply");
  in_.next();
  const bool negated = in_.take("^");
  ClassParts parts;
  for (bool first = true; first || in_.peek() != ']'; first = false) {  // []a] is one of ] and a
    if (in_.at_end()) return in_.malformed("a class without its closing bracket");
    if (in_.sees("[:")) return in_.unsupported("a POSIX bracket");
    if (in_.peek() == '[') {
      SMOE_TRY(std::string inner, read_class(depth + 1));
      parts.nested.push_back(std::move(inner));
    } else if (in_.take("&&")) {
      if (parts.operand_is_empty()) return in_.unsupported("&& without a left side");
      parts.operands.push_back(parts.operand());
      parts.items.clear();
      parts.nested.clear();
    } else {
      SMOE_DO(read_class_item(parts));
    }
  }
  in_.next();
  if (parts.operand_is_empty()) return in_.malformed("&& without a right side");
  return parts.pattern(negated);
}

// One character, range or set.
Status Translator::read_class_item(ClassParts& parts) {
  const auto read = [&]() -> Result<RegexAtom> {
    if (in_.peek() == '\\') return in_.escape(true);
    return RegexAtom{.kind = RegexAtom::Kind::kCharacter, .code_point = in_.character()};
  };
  SMOE_TRY(const RegexAtom atom, read());
  const bool range = in_.peek() == '-' && in_.peek(1) != ']' && in_.peek(1) != '\0';
  if (atom.kind == RegexAtom::Kind::kSet) {
    if (range) return in_.malformed("a range that begins with a class");
    SMOE_DO(mention_set(atom));
    if (atom.negated) {
      parts.nested.push_back(bracketed(atom.text, true));
    } else {
      parts.items += atom.text;
    }
    return {};
  }
  char32_t last = atom.code_point;
  if (range) {
    in_.next();
    if (in_.peek() == '[') return in_.unsupported("a range that ends in a class");
    SMOE_TRY(const RegexAtom end, read());
    if (end.kind == RegexAtom::Kind::kSet) return in_.malformed("a range that ends in a class");
    last = end.code_point;
    if (last < atom.code_point) return in_.malformed("a range that runs backwards");
  }
  SMOE_DO(mention(atom.code_point, last));
  parts.items += escaped_character(atom.code_point);
  if (range) parts.items.append("-").append(escaped_character(last));
  return {};
}

}  // namespace

Result<TranslatedRegex> translate_regex(std::string_view pattern) {
  return Translator(pattern).run();
}

std::string quote_regex(std::string_view text) {
  std::string quoted;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x80 && !is_alphanumeric(static_cast<unsigned char>(c)))
      quoted += '\\';
    quoted += c;
  }
  return quoted;
}

}  // namespace smoe
