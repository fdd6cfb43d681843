// UTF-8: checking, walking and repairing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace smoe {

// One step through a byte string. An invalid step covers the longest beginning of a character that
// could have gone on (the "maximal subpart" of the Unicode standard), at least one byte.
struct Utf8Step {
  char32_t code_point;  // U+FFFD when invalid
  uint8_t bytes;
  bool valid;
  bool truncated;  // invalid only because the text ends: more bytes could complete it
};

// Needs at < text.size().
Utf8Step utf8_step(std::string_view text, size_t at);

// The offset of the first byte that is no part of a valid character.
std::optional<size_t> first_invalid_utf8(std::string_view text);

// Needs a scalar value (no surrogate, at most U+10FFFF).
void append_utf8(std::string& text, char32_t code_point);
size_t utf8_length(char32_t code_point);

// Appends `bytes` with each invalid step as one U+FFFD.
void append_repaired(std::string& text, std::string_view bytes);

// The start of the last character before `at`. Needs valid UTF-8 and at > 0.
size_t previous_character(std::string_view text, size_t at);

bool is_ascii(std::string_view text);

}  // namespace smoe
