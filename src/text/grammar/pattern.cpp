#include "text/grammar/pattern.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "text/grammar/grammar.h"
#include "text/grammar/json_rules.h"
#include "text/utf8.h"

namespace smoe {
namespace {

constexpr size_t kMaxPatternBytes = 16 << 10;

CharacterSet word_characters() { return {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}; }

CharacterSet blank_characters() {
  return {{'\t', '\r'},     {' ', ' '},       {0xa0, 0xa0},     {0x1680, 0x1680}, {0x2000, 0x200a},
          {0x2028, 0x2029}, {0x202f, 0x202f}, {0x205f, 0x205f}, {0x3000, 0x3000}, {0xfeff, 0xfeff}};
}

class PatternReader {
 public:
  explicit PatternReader(std::string_view pattern) : text_(pattern) {}

  Result<Expression> run() {
    if (text_.size() > kMaxPatternBytes) return wrong("is too long");
    if (first_invalid_utf8(text_)) return wrong("is no UTF-8");
    std::vector<Expression> choices;
    do {
      const bool from_start = take("^");
      SMOE_TRY(Expression sequence, read_sequence(0));
      const bool to_end = take("$");
      std::vector<Expression> parts;
      if (!from_start) parts.push_back(anything());
      parts.push_back(std::move(sequence));
      if (!to_end) parts.push_back(anything());
      choices.push_back(all_of(std::move(parts)));
    } while (take("|"));
    if (at_ < text_.size())
      return wrong(fmt::format("has '{}' where it means nothing", text_[at_]));
    return all_of(list_of(text_of("\""), one_of(std::move(choices)), text_of("\"")));
  }

 private:
  static Expression anything() { return repeated(JsonRules::character(), 0, kNoBound); }

  Error wrong(std::string_view what) const {
    return {Code::kUsage, fmt::format("pattern '{}' {}", text_.substr(0, 80), what)};
  }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(std::string_view wanted) {
    if (!text_.substr(at_).starts_with(wanted)) return false;
    at_ += wanted.size();
    return true;
  }

  Result<Expression> read_choice(int depth) {
    if (depth > kMaxGrammarDepth) return wrong("is nested too deep");
    std::vector<Expression> choices;
    do {
      SMOE_TRY(Expression sequence, read_sequence(depth));
      choices.push_back(std::move(sequence));
    } while (take("|"));
    return one_of(std::move(choices));
  }

  Result<Expression> read_sequence(int depth) {
    std::vector<Expression> parts;
    while (at_ < text_.size() && peek() != '|' && peek() != ')' && peek() != '$') {
      SMOE_TRY(Expression item, read_item(depth));
      SMOE_TRY(Expression counted, read_count(std::move(item)));
      parts.push_back(std::move(counted));
    }
    return all_of(std::move(parts));
  }

  Result<Expression> read_item(int depth) {
    if (take("(")) return read_group(depth);
    if (take("[")) {
      SMOE_TRY(const CharacterSet set, read_set());
      return JsonRules::character_of(set);
    }
    if (take("."))
      return JsonRules::character_of(complement({{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}}));
    if (take("^")) return wrong("has ^ that is not at its beginning");
    if (peek() == '*' || peek() == '+' || peek() == '?' || peek() == '{')
      return wrong("repeats nothing");
    SMOE_TRY(const CharacterSet set, read_class_or_character());
    return JsonRules::character_of(set);
  }

  Result<Expression> read_group(int depth) {
    if (take("?") && !take(":")) {
      if (!take("<") || peek() == '=' || peek() == '!')
        return wrong("looks around, which is not supported");
      while (at_ < text_.size() && peek() != '>') ++at_;
      if (!take(">")) return wrong("has a name that is not closed");
    }
    SMOE_TRY(Expression inner, read_choice(depth + 1));
    if (!take(")")) return wrong("has a parenthesis that is not closed");
    return inner;
  }

  Result<CharacterSet> read_set() {
    const bool negated = take("^");
    CharacterSet set;
    while (at_ < text_.size() && peek() != ']') {
      SMOE_TRY(CharacterSet item, read_class_or_character());
      const bool is_one = item.size() == 1 && item[0].first == item[0].last;
      if (is_one && peek() == '-' && at_ + 1 < text_.size() && text_[at_ + 1] != ']') {
        ++at_;
        SMOE_TRY(const CharacterSet last, read_class_or_character());
        if (last.size() != 1 || last[0].first != last[0].last || last[0].first < item[0].first)
          return wrong("has a range that is none");
        item[0].last = last[0].last;
      }
      set.insert(set.end(), item.begin(), item.end());
    }
    if (!take("]")) return wrong("has a bracket that is not closed");
    return negated ? complement(set) : normalized(std::move(set));
  }

  Result<CharacterSet> read_class_or_character() {
    const Utf8Step step = utf8_step(text_, at_);
    at_ += step.bytes;
    if (step.code_point != '\\') return CharacterSet{{step.code_point, step.code_point}};
    if (at_ == text_.size()) return wrong("ends in a backslash");
    const char escape = text_[at_++];
    switch (escape) {
      case 'd':
        return CharacterSet{{'0', '9'}};
      case 'D':
        return complement({{'0', '9'}});
      case 'w':
        return word_characters();
      case 'W':
        return complement(word_characters());
      case 's':
        return blank_characters();
      case 'S':
        return complement(blank_characters());
      default:
        break;
    }
    SMOE_TRY(const char32_t character, read_escape(escape));
    return CharacterSet{{character, character}};
  }

  Result<char32_t> read_escape(char escape) {
    switch (escape) {
      case 't':
        return U'\t';
      case 'n':
        return U'\n';
      case 'r':
        return U'\r';
      case 'f':
        return U'\f';
      case 'v':
        return U'\v';
      case 'x':
        return read_hex(2);
      case 'u':
        if (!take("{")) return read_hex(4);
        return read_braced_hex();
      default:
        break;
    }
    constexpr std::string_view kPunctuation = "^$\\.*+?()[]{}|/-\"'#&,:;<=>@_`~!% ";
    if (kPunctuation.find(escape) == std::string_view::npos)
      return wrong(fmt::format("has \\{}, which is not supported", escape));
    return static_cast<char32_t>(escape);
  }

  Result<char32_t> read_braced_hex() {
    const size_t close = text_.find('}', at_);
    if (close == std::string_view::npos || close == at_ || close - at_ > 6)
      return wrong("has an escape that is not closed");
    SMOE_TRY(const char32_t character, read_hex(close - at_));
    ++at_;
    return character;
  }

  Result<char32_t> read_hex(size_t count) {
    uint32_t value = 0;
    const std::string_view hex = text_.substr(at_, count);
    const auto read = std::from_chars(hex.data(), hex.data() + hex.size(), value, 16);
    if (hex.size() != count || read.ptr != hex.data() + count || value > 0x10ffff ||
        (value >= 0xd800 && value <= 0xdfff))
      return wrong("has an escape that is no character");
    at_ += count;
    return char32_t{value};
  }

  Result<Expression> read_count(Expression item) {
    uint32_t least = 0;
    uint32_t most = kNoBound;
    if (take("+")) {
      least = 1;
    } else if (take("?")) {
      most = 1;
    } else if (take("{")) {
      SMOE_TRY(least, read_number());
      most = least;
      if (take(",")) {
        most = kNoBound;
        if (peek() != '}') {
          SMOE_TRY(most, read_number());
        }
      }
      if (!take("}") || most < least) return wrong("has bounds that are none");
    } else if (!take("*")) {
      return item;
    }
    take("?");  // lazy or not, the same strings match
    return repeated(std::move(item), least, most);
  }

  Result<uint32_t> read_number() {
    uint32_t value = 0;
    const std::string_view rest = text_.substr(at_);
    const auto read = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (read.ec != std::errc() || value > kMaxRepeats) return wrong("has bounds that are none");
    at_ += static_cast<size_t>(read.ptr - rest.data());
    return value;
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

Result<Expression> string_matching(std::string_view pattern) {
  return PatternReader(pattern).run();
}

}  // namespace smoe
