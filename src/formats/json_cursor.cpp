#include "formats/json_cursor.h"

#include <charconv>

namespace smoe {
namespace {

void append_utf8(std::string& to, uint32_t code) {
  const auto byte = [](uint32_t value) { return static_cast<char>(value); };
  if (code < 0x80) {
    to += byte(code);
  } else if (code < 0x800) {
    to += byte(0xc0U | code >> 6);
    to += byte(0x80U | (code & 0x3fU));
  } else if (code < 0x10000) {
    to += byte(0xe0U | code >> 12);
    to += byte(0x80U | (code >> 6 & 0x3fU));
    to += byte(0x80U | (code & 0x3fU));
  } else {
    to += byte(0xf0U | code >> 18);
    to += byte(0x80U | (code >> 12 & 0x3fU));
    to += byte(0x80U | (code >> 6 & 0x3fU));
    to += byte(0x80U | (code & 0x3fU));
  }
}

}  // namespace

void JsonCursor::skip_spaces() {
  const auto is_space = [](char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; };
  while (at_ < text_.size() && is_space(text_[at_])) ++at_;
}

Error JsonCursor::error(std::string_view fact) const {
  return {Code::kCorrupt, "header byte " + std::to_string(at_) + ": " + std::string(fact)};
}

bool JsonCursor::take(char wanted) {
  skip_spaces();
  if (at_ == text_.size() || text_[at_] != wanted) return false;
  ++at_;
  return true;
}

Status JsonCursor::expect(char wanted) {
  if (!take(wanted)) return error(std::string("'") + wanted + "' expected");
  return {};
}

bool JsonCursor::at_end() {
  skip_spaces();
  return at_ == text_.size();
}

Result<std::string> JsonCursor::string() {
  if (!take('"')) return error("a string expected");
  std::string value;
  for (;;) {
    const size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\\' &&
           static_cast<unsigned char>(text_[at_]) >= 0x20)
      ++at_;
    value.append(text_, begin, at_ - begin);
    if (at_ == text_.size()) return error("a string that does not end");
    const char stop = text_[at_];
    if (stop != '"' && stop != '\\') return error("a control character in a string");
    ++at_;
    if (stop == '"') return value;
    SMOE_DO(escape(value));
  }
}

Status JsonCursor::escape(std::string& to) {
  constexpr std::string_view kNames = "\"\\/bfnrt";
  constexpr std::string_view kValues = "\"\\/\b\f\n\r\t";
  if (at_ == text_.size()) return error("a string that does not end");
  const char name = text_[at_++];
  if (const size_t known = kNames.find(name); known != std::string_view::npos) {
    to += kValues[known];
    return {};
  }
  if (name != 'u') return error("an unknown escape in a string");
  SMOE_TRY(uint32_t code, hex4());
  if (code >= 0xd800 && code < 0xdc00 && text_.substr(at_, 2) == "\\u") {
    at_ += 2;
    SMOE_TRY(const uint32_t low, hex4());
    if (low < 0xdc00 || low > 0xdfff) return error("half a surrogate pair in a string");
    code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
  }
  if (code >= 0xd800 && code <= 0xdfff) return error("half a surrogate pair in a string");
  append_utf8(to, code);
  return {};
}

Result<uint32_t> JsonCursor::hex4() {
  const std::string_view digits = text_.substr(at_, 4);
  uint32_t code = 0;
  const auto [end, failed] =
      std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
  if (digits.size() != 4 || failed != std::errc{} || end != digits.data() + 4)
    return error("four hexadecimal digits expected");
  at_ += 4;
  return code;
}

Result<uint64_t> JsonCursor::number() {
  skip_spaces();
  const char* const begin = text_.data() + at_;
  uint64_t value = 0;
  const auto [end, failed] = std::from_chars(begin, text_.data() + text_.size(), value);
  if (failed == std::errc::result_out_of_range) return error("a number beyond 64 bits");
  if (failed != std::errc{}) return error("a whole number expected");
  const auto digits = static_cast<size_t>(end - begin);
  if (digits > 1 && *begin == '0') return error("a number that begins with 0");
  at_ += digits;
  return value;
}

}  // namespace smoe
