#include "text/grammar/gbnf.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <unordered_map>

#include "text/grammar/grammar.h"
#include "text/utf8.h"

namespace smoe {
namespace {

constexpr int kMostCounts = 8;  // in a row: a{2}{3}

bool is_name_byte(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
         (byte >= '0' && byte <= '9') || byte == '-' || byte == '_';
}

class GbnfParser {
 public:
  explicit GbnfParser(std::string_view text) : text_(text) {}

  Result<GrammarRules> run() {
    if (text_.size() > kMaxGrammarBytes)
      return Error{Code::kUsage,
                   fmt::format("the grammar has more than {} bytes", kMaxGrammarBytes)};
    if (const auto at = first_invalid_utf8(text_))
      return Error{Code::kUsage, fmt::format("the grammar is no UTF-8, from byte {} on", *at)};
    skip_blanks(true);
    while (!at_end()) SMOE_DO(read_rule());
    for (uint32_t rule = 0; rule < rules_.rules.size(); ++rule)
      if (!defined_[rule])
        return Error{Code::kUsage, fmt::format("the grammar uses rule {}, which it does not define",
                                               rules_.rules[rule].name)};
    const auto root = ids_.find("root");
    if (root == ids_.end()) return Error{Code::kUsage, "the grammar has no rule root"};
    rules_.root = root->second;
    return std::move(rules_);
  }

 private:
  bool at_end() const { return at_ == text_.size(); }
  char peek() const { return at_end() ? '\0' : text_[at_]; }
  bool take(std::string_view wanted) {
    if (!text_.substr(at_).starts_with(wanted)) return false;
    at_ += wanted.size();
    return true;
  }

  Error wrong(std::string_view what) const {
    const auto line =
        1 + std::count(text_.begin(), text_.begin() + static_cast<ptrdiff_t>(at_), '\n');
    return {Code::kUsage, fmt::format("the grammar, line {}: {}", line, what)};
  }

  // Comments too. A rule ends with its line, unless it is inside of parentheses.
  void skip_blanks(bool with_lines) {
    while (!at_end()) {
      const char byte = peek();
      if (byte == '#') {
        while (!at_end() && peek() != '\n' && peek() != '\r') ++at_;
      } else if (byte == ' ' || byte == '\t' || (with_lines && (byte == '\n' || byte == '\r'))) {
        ++at_;
      } else {
        return;
      }
    }
  }

  Result<uint32_t> read_name() {
    const size_t begin = at_;
    while (!at_end() && is_name_byte(peek())) ++at_;
    if (at_ == begin) return wrong("a name is missing");
    const std::string name(text_.substr(begin, at_ - begin));
    const auto [found, is_new] = ids_.try_emplace(name, 0);
    if (is_new) {
      found->second = rules_.add(name);
      defined_.push_back(false);
    }
    return found->second;
  }

  Status read_rule() {
    SMOE_TRY(const uint32_t rule, read_name());
    skip_blanks(false);
    if (!take("::=")) return wrong("::= is missing behind the name of a rule");
    if (defined_[rule])
      return wrong(fmt::format("rule {} is defined twice", rules_.rules[rule].name));
    defined_[rule] = true;
    skip_blanks(true);
    SMOE_TRY(Expression body, read_choice(0));
    rules_.rules[rule].body = std::move(body);
    if (!at_end() && peek() != '\n' && peek() != '\r')
      return wrong(fmt::format("'{}' does not belong here", peek()));
    skip_blanks(true);
    return {};
  }

  Result<Expression> read_choice(int depth) {
    if (depth > kMaxGrammarDepth) return wrong("parentheses are nested too deep");
    std::vector<Expression> choices;
    do {
      skip_blanks(depth > 0 || !choices.empty());
      SMOE_TRY(Expression sequence, read_sequence(depth));
      choices.push_back(std::move(sequence));
    } while (take("|"));
    return one_of(std::move(choices));
  }

  Result<Expression> read_sequence(int depth) {
    std::vector<Expression> parts;
    for (;;) {
      SMOE_TRY(auto item, read_item(depth));
      if (!item) return all_of(std::move(parts));
      SMOE_TRY(Expression counted, read_count(*std::move(item)));
      parts.push_back(std::move(counted));
      skip_blanks(depth > 0);
    }
  }

  // Nothing where the sequence ends.
  Result<std::optional<Expression>> read_item(int depth) {
    if (take("\"")) return wrapped(read_literal());
    if (take("[")) return wrapped(read_set());
    if (take(".")) return std::optional(any_of(complement({})));
    if (take("(")) {
      SMOE_TRY(Expression inner, read_choice(depth + 1));
      if (!take(")")) return wrong("a parenthesis is not closed");
      return std::optional(std::move(inner));
    }
    if (!at_end() && is_name_byte(peek())) {
      SMOE_TRY(const uint32_t rule, read_name());
      return std::optional(rule_of(rule));
    }
    if (peek() == '<' || peek() == '!') return wrong("marks of tokens are not supported");
    return std::optional<Expression>();
  }

  static Result<std::optional<Expression>> wrapped(Result<Expression> result) {
    if (!result) return std::move(result).error();
    return std::optional(*std::move(result));
  }

  Result<Expression> read_literal() {
    std::string bytes;
    while (!at_end() && peek() != '"') {
      SMOE_TRY(const char32_t character, read_character());
      append_utf8(bytes, character);
    }
    if (!take("\"")) return wrong("a quote is not closed");
    return text_of(bytes);
  }

  Result<Expression> read_set() {
    const bool negated = take("^");
    CharacterSet set;
    while (!at_end() && peek() != ']') {
      SMOE_TRY(const char32_t first, read_character());
      char32_t last = first;
      if (peek() == '-' && at_ + 1 < text_.size() && text_[at_ + 1] != ']') {
        ++at_;
        SMOE_TRY(last, read_character());
      }
      if (last < first) return wrong("a range of characters runs backwards");
      set.push_back({first, last});
    }
    if (!take("]")) return wrong("a set of characters is not closed");
    return any_of(negated ? complement(set) : set);
  }

  Result<char32_t> read_character() {
    if (peek() != '\\') {
      const Utf8Step step = utf8_step(text_, at_);
      at_ += step.bytes;
      return step.code_point;
    }
    ++at_;
    const char escape = peek();
    if (!at_end()) ++at_;
    switch (escape) {
      case 'n':
        return U'\n';
      case 'r':
        return U'\r';
      case 't':
        return U'\t';
      case '\\':
      case '"':
      case '[':
      case ']':
      case '-':
      case '^':
        return static_cast<char32_t>(escape);
      case 'x':
        return read_hex(2);
      case 'u':
        return read_hex(4);
      case 'U':
        return read_hex(8);
      default:
        return wrong("an escape that is none of \\n \\r \\t \\\\ \\\" \\[ \\] \\- \\^ \\x \\u \\U");
    }
  }

  Result<char32_t> read_hex(size_t digits) {
    uint32_t value = 0;
    const std::string_view hex = text_.substr(at_, digits);
    const auto read = std::from_chars(hex.data(), hex.data() + hex.size(), value, 16);
    if (hex.size() != digits || read.ptr != hex.data() + digits)
      return wrong(fmt::format("an escape lacks its {} hexadecimal digits", digits));
    if (value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff))
      return wrong("an escape is no character");
    at_ += digits;
    return char32_t{value};
  }

  Result<Expression> read_count(Expression item) {
    for (int counts = 0;; ++counts) {
      uint32_t least = 0;
      uint32_t most = kNoBound;
      if (take("+")) {
        least = 1;
      } else if (take("?")) {
        most = 1;
      } else if (take("{")) {
        SMOE_DO(read_bounds(least, most));
      } else if (!take("*")) {
        return item;
      }
      if (counts == kMostCounts) return wrong("too many repetitions of one thing");
      item = repeated(std::move(item), least, most);
    }
  }

  Status read_bounds(uint32_t& least, uint32_t& most) {
    skip_blanks(false);
    SMOE_TRY(least, read_number());
    most = least;
    skip_blanks(false);
    if (take(",")) {
      skip_blanks(false);
      most = kNoBound;
      if (peek() != '}') {
        SMOE_TRY(most, read_number());
      }
      skip_blanks(false);
    }
    if (!take("}")) return wrong("a brace is not closed");
    if (most < least) return wrong("a repetition's bounds run backwards");
    return {};
  }

  Result<uint32_t> read_number() {
    uint32_t value = 0;
    const std::string_view rest = text_.substr(at_);
    const auto read = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (read.ec != std::errc() || value > kMaxRepeats)
      return wrong(fmt::format("a repetition has no number up to {}", kMaxRepeats));
    at_ += static_cast<size_t>(read.ptr - rest.data());
    return value;
  }

  std::string_view text_;
  size_t at_ = 0;
  GrammarRules rules_;
  std::unordered_map<std::string, uint32_t> ids_;
  std::vector<bool> defined_;
};

}  // namespace

Result<GrammarRules> parse_gbnf(std::string_view text) { return GbnfParser(text).run(); }

}  // namespace smoe
