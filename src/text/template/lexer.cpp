#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "text/template/characters.h"
#include "text/template/string_literal.h"
#include "text/template/token.h"
#include "text/utf8.h"

namespace smoe::jinja {
namespace {

using Kind = Token::Kind;

constexpr std::string_view kTwoCharacterOperators[] = {"//", "**", "==", "!=", ">=", "<="};
constexpr std::string_view kOperators = "+-/*%~[](){}><=.:|,;";

std::string with_plain_newlines(std::string_view source) {
  std::string result;
  result.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      result += source[i];
    } else if (i + 1 >= source.size() || source[i + 1] != '\n') {
      result += '\n';
    }
  }
  if (result.ends_with('\n')) result.pop_back();
  return result;
}

class Lexer {
 public:
  Lexer(std::string_view source, std::string_view name)
      : source_(with_plain_newlines(source)), name_(name) {}

  Result<std::vector<Token>> run() {
    while (at_ < source_.size()) SMOE_DO(data());
    add(Kind::kEnd, "", source_.size());
    return std::move(tokens_);
  }

 private:
  std::string_view rest() const { return std::string_view(source_).substr(at_); }
  bool looking_at(std::string_view text) const { return rest().starts_with(text); }

  // Places are asked for in nearly ascending order, so each goes on from the last one: counting
  // from the start of a line of 256 KiB each time took half a minute.
  Position position(size_t offset) {
    if (offset < located_) {
      located_ = 0;
      located_at_ = {};
    }
    for (; located_ < offset; ++located_) {
      const char c = source_[located_];
      if (c == '\n') {
        ++located_at_.line;
        located_at_.column = 1;
      } else if ((static_cast<unsigned char>(c) & 0xc0U) != 0x80U) {
        ++located_at_.column;
      }
    }
    return located_at_;
  }

  Error error(size_t offset, std::string_view message) {
    return error_at(name_, position(offset), Code::kCorrupt, message);
  }

  void add(Kind kind, std::string text, size_t offset) {
    tokens_.push_back({kind, std::move(text), position(offset)});
  }

  void move_to(size_t end) {
    line_begins_ = end > at_ ? source_[end - 1] == '\n' : line_begins_;
    at_ = end;
  }

  // Where the next tag begins, or the end.
  size_t next_tag() const {
    size_t found = source_.find('{', at_);
    while (found != std::string::npos) {
      const char c = found + 1 < source_.size() ? source_[found + 1] : '\0';
      if (c == '%' || c == '{' || c == '#') return found;
      found = source_.find('{', found + 1);
    }
    return source_.size();
  }

  // Text up to `end`, where a tag with this sign begins.
  void add_text(size_t end, char sign, bool is_variable) {
    std::string_view text = std::string_view(source_).substr(at_, end - at_);
    if (sign == '-') {
      text = text.substr(0, spaces_before(text, text.size()));
    } else if (sign != '+' && !is_variable) {
      const size_t newline = text.rfind('\n');
      const size_t line = newline == std::string_view::npos ? 0 : newline + 1;
      const bool begins_line = line > 0 || line_begins_;
      // Python's \s: at least one character must be there to be stripped.
      if (begins_line && skip_spaces(text, line) == text.size()) text = text.substr(0, line);
    }
    if (!text.empty()) add(Kind::kData, std::string(text), at_);
  }

  Status data() {
    const size_t tag = next_tag();
    if (tag == source_.size()) {
      add(Kind::kData, source_.substr(at_), at_);
      at_ = tag;
      return {};
    }
    const char type = source_[tag + 1];
    size_t inside = tag + 2;
    char sign = '\0';
    if (inside < source_.size() && (source_[inside] == '-' || source_[inside] == '+'))
      sign = source_[inside++];
    add_text(tag, sign, type == '{');
    at_ = tag;
    if (type == '#') return comment(inside);
    if (type == '%')
      if (const auto end = raw_begin(inside)) return raw(*end);
    add(type == '{' ? Kind::kVariableBegin : Kind::kBlockBegin, "", tag);
    move_to(inside);
    return tag_content(type == '{', tag);
  }

  Status comment(size_t begin) {
    const size_t end = source_.find("#}", begin);
    if (end == std::string::npos) return error(at_, "missing end of comment tag");
    const char sign = end > begin ? source_[end - 1] : '\0';
    move_to(after_tag(end + 2, sign, true));
    return {};
  }

  // Behind the end of a tag: '-' takes all white space, otherwise one newline goes.
  size_t after_tag(size_t end, char sign, bool trims) const {
    if (sign == '-') return skip_spaces(source_, end);
    const bool newline = sign != '+' && trims && end < source_.size() && source_[end] == '\n';
    return newline ? end + 1 : end;
  }

  // The end of "raw %}" or "endraw %}" at `at`.
  std::optional<size_t> keyword_end(size_t at, std::string_view word, bool is_end) const {
    at = skip_spaces(source_, at);
    if (!std::string_view(source_).substr(at).starts_with(word)) return std::nullopt;
    at = skip_spaces(source_, at + word.size());
    char sign = '\0';
    if (at < source_.size() && (source_[at] == '-' || (is_end && source_[at] == '+')))
      sign = source_[at++];
    if (!std::string_view(source_).substr(at).starts_with("%}")) return std::nullopt;
    return after_tag(at + 2, sign, is_end);
  }

  std::optional<size_t> raw_begin(size_t inside) const { return keyword_end(inside, "raw", false); }

  Status raw(size_t begin) {
    const size_t opened = at_;
    move_to(begin);
    for (size_t tag = source_.find("{%", at_); tag != std::string::npos;
         tag = source_.find("{%", tag + 1)) {
      size_t inside = tag + 2;
      char sign = '\0';
      if (inside < source_.size() && (source_[inside] == '-' || source_[inside] == '+'))
        sign = source_[inside++];
      const auto end = keyword_end(inside, "endraw", true);
      if (!end) continue;
      add_text(tag, sign, false);
      at_ = tag;
      move_to(*end);
      return {};
    }
    return error(opened, "missing end of raw directive");
  }

  Status tag_content(bool is_variable, size_t opened) {
    open_.clear();
    while (at_ < source_.size()) {
      if (open_.empty()) {
        if (const auto end = tag_end(is_variable)) {
          add(is_variable ? Kind::kVariableEnd : Kind::kBlockEnd, "", at_);
          move_to(*end);
          return {};
        }
      }
      SMOE_DO(token());
    }
    return error(opened, "this tag is never closed");
  }

  std::optional<size_t> tag_end(bool is_variable) const {
    const std::string_view close = is_variable ? "}}" : "%}";
    const bool has_sign = looking_at("-") || (!is_variable && looking_at("+"));
    const char sign = has_sign ? source_[at_] : '\0';
    const size_t at = at_ + (has_sign ? 1 : 0);
    if (!std::string_view(source_).substr(at).starts_with(close)) return std::nullopt;
    return after_tag(at + 2, sign, !is_variable);
  }

  Status token() {
    const size_t spaces = skip_spaces(source_, at_);
    if (spaces > at_) {
      move_to(spaces);
      return {};
    }
    const char c = source_[at_];
    if (is_ascii_digit(c)) return number();
    if (c == '"' || c == '\'') return string();
    if (is_identifier_part(utf8_step(source_, at_).code_point)) return word();
    return sign();
  }

  Status word() {
    size_t end = at_;
    while (end < source_.size()) {
      const Utf8Step step = utf8_step(source_, end);
      if (!is_identifier_part(step.code_point)) break;
      end += step.bytes;
    }
    if (!is_identifier_start(utf8_step(source_, at_).code_point))
      return error(at_, "invalid character in identifier");
    add(Kind::kName, source_.substr(at_, end - at_), at_);
    move_to(end);
    return {};
  }

  // Digits with single underscores between them.
  size_t digits_end(size_t at, std::string_view digits) const {
    const auto is_one = [&](size_t i) {
      return i < source_.size() && digits.find(source_[i]) != std::string_view::npos;
    };
    while (is_one(at) || (at < source_.size() && source_[at] == '_' && is_one(at + 1))) ++at;
    return at;
  }

  // The end of a floating-point number at the current place, or 0.
  size_t float_end() const {
    constexpr std::string_view kDigits = "0123456789";
    if (at_ > 0 && source_[at_ - 1] == '.') return 0;
    size_t end = digits_end(at_, kDigits);
    bool is_float = false;
    if (end + 1 < source_.size() && source_[end] == '.' && is_ascii_digit(source_[end + 1])) {
      end = digits_end(end + 1, kDigits);
      is_float = true;
    }
    size_t exponent = end;
    if (exponent < source_.size() && (source_[exponent] == 'e' || source_[exponent] == 'E')) {
      ++exponent;
      if (exponent < source_.size() && (source_[exponent] == '+' || source_[exponent] == '-'))
        ++exponent;
      if (exponent < source_.size() && is_ascii_digit(source_[exponent])) {
        end = digits_end(exponent, kDigits);
        is_float = true;
      }
    }
    return is_float ? end : 0;
  }

  size_t integer_end() const {
    const char second = at_ + 1 < source_.size() ? to_ascii_lower(source_[at_ + 1]) : '\0';
    if (source_[at_] == '0') {
      std::string_view digits;
      if (second == 'b') digits = "01";
      if (second == 'o') digits = "01234567";
      if (second == 'x') digits = "0123456789abcdefABCDEF";
      if (!digits.empty()) {
        const size_t first =
            at_ + 2 + (at_ + 2 < source_.size() && source_[at_ + 2] == '_' ? 1 : 0);
        const size_t end = digits_end(first, digits);
        if (end > first) return end;
      }
      return digits_end(at_, "0");
    }
    return digits_end(at_, "0123456789");
  }

  Status number() {
    const size_t as_float = float_end();
    const size_t end = as_float > 0 ? as_float : integer_end();
    std::string digits = source_.substr(at_, end - at_);
    std::erase(digits, '_');
    add(as_float > 0 ? Kind::kFloat : Kind::kInteger, std::move(digits), at_);
    move_to(end);
    return {};
  }

  Status string() {
    const char quote = source_[at_];
    size_t end = at_ + 1;
    while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2 : 1;
    if (end >= source_.size()) return error(at_, "this string is never closed");
    const auto text = unescape_literal(std::string_view(source_).substr(at_ + 1, end - at_ - 1));
    if (!text) return error(at_, text.error().message);
    add(Kind::kString, *text, at_);
    move_to(end + 1);
    return {};
  }

  Status sign() {
    for (const std::string_view each : kTwoCharacterOperators) {
      if (!looking_at(each)) continue;
      add(Kind::kOperator, std::string(each), at_);
      move_to(at_ + 2);
      return {};
    }
    const char c = source_[at_];
    if (kOperators.find(c) == std::string_view::npos) {
      const std::string character = source_.substr(at_, utf8_step(source_, at_).bytes);
      return error(at_, "unexpected character '" + character + "'");
    }
    SMOE_DO(balance(c));
    add(Kind::kOperator, std::string(1, c), at_);
    move_to(at_ + 1);
    return {};
  }

  // The end of a tag counts only outside of brackets.
  Status balance(char c) {
    if (c == '(' || c == '[' || c == '{') {
      open_ += c == '(' ? ')' : c == '[' ? ']' : '}';
    } else if (c == ')' || c == ']' || c == '}') {
      if (open_.empty()) return error(at_, std::string("unexpected '") + c + "'");
      if (open_.back() != c)
        return error(at_, std::string("unexpected '") + c + "', expected '" + open_.back() + "'");
      open_.pop_back();
    }
    return {};
  }

  std::string source_;
  std::string_view name_;
  size_t located_ = 0;  // the offset of located_at_
  Position located_at_;
  std::vector<Token> tokens_;
  std::string open_;  // the closing brackets that are still to come
  size_t at_ = 0;
  bool line_begins_ = true;
};

}  // namespace

Error error_at(std::string_view name, Position at, Code code, std::string_view message) {
  return {code, fmt::format("{}:{}:{}: {}", name, at.line, at.column, message)};
}

Result<std::vector<Token>> tokenize(std::string_view source, std::string_view name) {
  return Lexer(source, name).run();
}

}  // namespace smoe::jinja
