#include "text/template/string_literal.h"

#include <charconv>

#include "text/utf8.h"

namespace smoe::jinja {
namespace {

constexpr std::string_view kSimple = "\\'\"abfnrtv";
constexpr std::string_view kMeanings = "\\'\"\a\b\f\n\r\t\v";

size_t digits_of(char letter) {
  if (letter == 'x') return 2;
  if (letter == 'u') return 4;
  return letter == 'U' ? 8 : 0;
}

Error bad(std::string message) { return {Code::kCorrupt, std::move(message)}; }

Status append_code_point(std::string& to, uint32_t code_point) {
  if (code_point > 0x10ffff || (code_point >= 0xd800 && code_point < 0xe000))
    return bad("an escape that is no character");
  append_utf8(to, static_cast<char32_t>(code_point));
  return {};
}

// Appends what the escape at the start of `text`, behind its backslash, stands for; returns its
// length.
Result<size_t> append_escape(std::string& to, std::string_view text) {
  const char letter = text[0];
  if (letter == '\n') return 1;
  if (letter == 'N') return bad("characters by their names are not supported");
  if (const size_t simple = kSimple.find(letter); simple != std::string_view::npos) {
    to += kMeanings[simple];
    return 1;
  }
  uint32_t code_point = 0;
  if (letter >= '0' && letter <= '7') {
    const char* end = text.data() + std::min<size_t>(text.size(), 3);
    const auto [stop, error] = std::from_chars(text.data(), end, code_point, 8);
    SMOE_DO(append_code_point(to, code_point));
    return static_cast<size_t>(stop - text.data());
  }
  if (const size_t digits = digits_of(letter); digits > 0) {
    const std::string_view hex = text.substr(1, digits);
    const auto [stop, error] = std::from_chars(hex.data(), hex.data() + hex.size(), code_point, 16);
    if (hex.size() < digits || error != std::errc{} || stop != hex.data() + digits)
      return bad("truncated \\" + std::string(1, letter) + " escape");
    SMOE_DO(append_code_point(to, code_point));
    return 1 + digits;
  }
  to += '\\';
  return 0;
}

}  // namespace

Result<std::string> unescape_literal(std::string_view content) {
  std::string result;
  result.reserve(content.size());
  while (!content.empty()) {
    const size_t backslash = std::min(content.find('\\'), content.size());
    result += content.substr(0, backslash);
    content.remove_prefix(backslash);
    if (content.empty()) break;
    if (content.size() == 1) return bad("a backslash at the end of a string");
    SMOE_TRY(const size_t used, append_escape(result, content.substr(1)));
    content.remove_prefix(1 + used);
  }
  return result;
}

}  // namespace smoe::jinja
