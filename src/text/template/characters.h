// Characters as Python's str sees them: counted in code points, with its white space and case.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/template/marked_text.h"

namespace smoe::jinja {

inline bool is_ascii_digit(char c) { return c >= '0' && c <= '9'; }
inline bool is_ascii_alpha(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
inline bool is_ascii_alnum(char c) { return is_ascii_digit(c) || is_ascii_alpha(c); }
inline char to_ascii_lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// str.isspace() of one character: more than Unicode's White_Space.
bool is_python_space(char32_t code_point);

// The offset after the white space that begins at `at`, and before that which ends at `end`.
size_t skip_spaces(std::string_view text, size_t at);
size_t spaces_before(std::string_view text, size_t end);
std::string_view strip_spaces(std::string_view text);

size_t count_characters(std::string_view text);
// Where each character begins, and the size at the end. Cost: 8 bytes a character.
std::vector<size_t> character_offsets(std::string_view text);
// The offset of a character, at most the size.
size_t offset_of_character(std::string_view text, size_t character);

enum class Letters : uint8_t { kUpper, kLower, kTitle, kSwapped, kCapitalized };

// str.upper() and its like; each new character has the origin of the one it came from.
MarkedText change_case(const MarkedText& text, Letters letters);

// The predicates of str: isupper() and so on; false for an empty text.
bool is_upper(std::string_view text);
bool is_lower(std::string_view text);
bool all_alpha(std::string_view text);
bool all_digits(std::string_view text);
bool all_alnum(std::string_view text);
bool all_spaces(std::string_view text);

bool is_printable(char32_t code_point);
bool is_identifier_start(char32_t code_point);
bool is_identifier_part(char32_t code_point);

}  // namespace smoe::jinja
