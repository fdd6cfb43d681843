#include "text/utf8.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace smoe {
namespace {

constexpr char32_t kReplacement = 0xfffd;

uint8_t byte_at(std::string_view text, size_t at) { return static_cast<uint8_t>(text[at]); }

// What a leading byte promises: the length of its character and the range of its second byte,
// which keeps out overlong forms, surrogates and values above U+10FFFF (RFC 3629, section 4).
struct Lead {
  uint8_t bytes;  // 0: never a leading byte
  uint8_t second_first;
  uint8_t second_last;
};

Lead lead_of(uint8_t byte) {
  if (byte >= 0xc2 && byte <= 0xdf) return {2, 0x80, 0xbf};
  if (byte == 0xe0) return {3, 0xa0, 0xbf};
  if (byte == 0xed) return {3, 0x80, 0x9f};
  if (byte >= 0xe1 && byte <= 0xef) return {3, 0x80, 0xbf};
  if (byte == 0xf0) return {4, 0x90, 0xbf};
  if (byte >= 0xf1 && byte <= 0xf3) return {4, 0x80, 0xbf};
  if (byte == 0xf4) return {4, 0x80, 0x8f};
  return {0, 0, 0};
}

}  // namespace

Utf8Step utf8_step(std::string_view text, size_t at) {
  SMOE_DCHECK(at < text.size());
  const uint8_t first = byte_at(text, at);
  if (first < 0x80) return {first, 1, true, false};
  const Lead lead = lead_of(first);
  if (lead.bytes == 0) return {kReplacement, 1, false, false};
  char32_t code_point = first & (0xffu >> (lead.bytes + 1u));
  for (uint8_t index = 1; index < lead.bytes; ++index) {
    if (at + index >= text.size()) return {kReplacement, index, false, true};
    const uint8_t next = byte_at(text, at + index);
    const uint8_t low = index == 1 ? lead.second_first : 0x80;
    const uint8_t high = index == 1 ? lead.second_last : 0xbf;
    if (next < low || next > high) return {kReplacement, index, false, false};
    code_point = (code_point << 6) | (next & 0x3fu);
  }
  return {code_point, lead.bytes, true, false};
}

std::optional<size_t> first_invalid_utf8(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    // Eight ASCII bytes at a time: most text is mostly ASCII.
    uint64_t word = 0;
    if (at + sizeof word <= text.size()) {
      std::memcpy(&word, text.data() + at, sizeof word);
      if ((word & 0x8080808080808080u) == 0) {
        at += sizeof word;
        continue;
      }
    }
    const Utf8Step step = utf8_step(text, at);
    if (!step.valid) return at;
    at += step.bytes;
  }
  return std::nullopt;
}

size_t utf8_length(char32_t code_point) {
  if (code_point < 0x80) return 1;
  if (code_point < 0x800) return 2;
  return code_point < 0x10000 ? 3 : 4;
}

void append_utf8(std::string& text, char32_t code_point) {
  const auto tail = [&](unsigned shift) {
    text.push_back(static_cast<char>(0x80u | ((code_point >> shift) & 0x3fu)));
  };
  switch (utf8_length(code_point)) {
    case 1:
      text.push_back(static_cast<char>(code_point));
      return;
    case 2:
      text.push_back(static_cast<char>(0xc0u | (code_point >> 6)));
      return tail(0);
    case 3:
      text.push_back(static_cast<char>(0xe0u | (code_point >> 12)));
      tail(6);
      return tail(0);
    default:
      text.push_back(static_cast<char>(0xf0u | (code_point >> 18)));
      tail(12);
      tail(6);
      return tail(0);
  }
}

void append_repaired(std::string& text, std::string_view bytes) {
  size_t at = 0;
  while (at < bytes.size()) {
    const Utf8Step step = utf8_step(bytes, at);
    if (step.valid) {
      text.append(bytes.substr(at, step.bytes));
    } else {
      append_utf8(text, kReplacement);
    }
    at += step.bytes;
  }
}

size_t previous_character(std::string_view text, size_t at) {
  do {
    --at;
  } while (at > 0 && (byte_at(text, at) & 0xc0u) == 0x80);
  return at;
}

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<uint8_t>(c) < 0x80; });
}

}  // namespace smoe
