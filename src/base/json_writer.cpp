#include <array>
#include <charconv>
#include <cmath>

#include "base/check.h"
#include "base/json.h"

namespace smoe {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

// Length of the well-formed UTF-8 sequence at `at` (Unicode table 3-7), 0 when there is none.
size_t sequence_length(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const auto continues = [&](size_t i) { return (byte(i) & 0xc0U) == 0x80U; };
  const unsigned lead = byte(at);
  const unsigned second = byte(at + 1);
  if (lead < 0x80) return 1;
  if (lead < 0xc2 || lead > 0xf4 || !continues(at + 1)) return 0;
  if (lead < 0xe0) return 2;
  if ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f)) return 0;
  if (!continues(at + 2)) return 0;
  if (lead < 0xf0) return 3;
  if ((lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second > 0x8f)) return 0;
  return continues(at + 3) ? 4 : 0;
}

void append_escaped(std::string& to, char c) {
  constexpr std::string_view kHex = "0123456789abcdef";
  switch (c) {
    case '"':
      to += "\\\"";
      break;
    case '\\':
      to += "\\\\";
      break;
    case '\n':
      to += "\\n";
      break;
    case '\r':
      to += "\\r";
      break;
    case '\t':
      to += "\\t";
      break;
    default:
      to += "\\u00";
      to += kHex[static_cast<unsigned char>(c) >> 4];
      to += kHex[static_cast<unsigned char>(c) & 0xfU];
  }
}

void append_quoted(std::string& to, std::string_view text) {
  to += '"';
  for (size_t at = 0; at < text.size();) {
    const size_t length = sequence_length(text, at);
    const char c = text[at];
    if (length == 0) {
      to += kReplacement;
    } else if (c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      append_escaped(to, c);
    } else {
      to.append(text, at, length);
    }
    at += length == 0 ? 1 : length;
  }
  to += '"';
}

template <class T>
std::string shortest(T number) {
  std::array<char, 40> digits{};
  const auto [end, error] = std::to_chars(digits.begin(), digits.end(), number);
  SMOE_CHECK(error == std::errc{});
  return {digits.data(), end};
}

}  // namespace

std::string json_quote(std::string_view text) {
  std::string quoted;
  append_quoted(quoted, text);
  return quoted;
}

void JsonWriter::new_line() {
  if (indent_ > 0) text_.append(1, '\n').append(levels_.size() * static_cast<size_t>(indent_), ' ');
}

void JsonWriter::before_value() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (levels_.empty()) {
    SMOE_CHECK(text_.empty());  // one value a document
    return;
  }
  SMOE_CHECK(!levels_.back().object);  // a member needs its key first
  if (!levels_.back().empty) text_ += ',';
  levels_.back().empty = false;
  new_line();
}

JsonWriter& JsonWriter::begin_object() {
  before_value();
  text_ += '{';
  levels_.push_back({.object = true});
  return *this;
}

JsonWriter& JsonWriter::end_object() {
  SMOE_CHECK(!levels_.empty() && levels_.back().object && !after_key_);
  const bool empty = levels_.back().empty;
  levels_.pop_back();
  if (!empty) new_line();
  text_ += '}';
  return *this;
}

JsonWriter& JsonWriter::begin_array() {
  before_value();
  text_ += '[';
  levels_.push_back({.object = false});
  return *this;
}

JsonWriter& JsonWriter::end_array() {
  SMOE_CHECK(!levels_.empty() && !levels_.back().object);
  const bool empty = levels_.back().empty;
  levels_.pop_back();
  if (!empty) new_line();
  text_ += ']';
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  SMOE_CHECK(!levels_.empty() && levels_.back().object && !after_key_);
  if (!levels_.back().empty) text_ += ',';
  levels_.back().empty = false;
  new_line();
  append_quoted(text_, name);
  text_ += indent_ > 0 ? ": " : ":";
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
  before_value();
  append_quoted(text_, text);
  return *this;
}

JsonWriter& JsonWriter::value(bool flag) { return raw(flag ? "true" : "false"); }

JsonWriter& JsonWriter::value(double number) {
  return std::isfinite(number) ? raw(shortest(number)) : null();
}

JsonWriter& JsonWriter::value(float number) {
  return std::isfinite(number) ? raw(shortest(number)) : null();
}

JsonWriter& JsonWriter::value(uint64_t number) { return raw(shortest(number)); }

JsonWriter& JsonWriter::value(int64_t number) { return raw(shortest(number)); }

JsonWriter& JsonWriter::null() { return raw("null"); }

JsonWriter& JsonWriter::raw(std::string_view json) {
  before_value();
  text_ += json;
  return *this;
}

}  // namespace smoe
