// The alphabet of byte-level vocabularies: one printable character for each of the 256 bytes, so
// that a vocabulary of arbitrary bytes can be written down as text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace smoe {

// Printable Latin-1 bytes stand for themselves, the others for U+0100 and up, in order.
char32_t letter_of_byte(uint8_t byte);
std::optional<uint8_t> byte_of_letter(char32_t letter);

// "Ġhello" for " hello".
void append_byte_letters(std::string& text, std::string_view bytes);

// Appends the bytes that a vocabulary entry stands for: its letters turned back, or the entry as it
// is when one of its characters is no letter of the alphabet (an added token with a space in it).
void append_bytes_of_letters(std::string& bytes, std::string_view token);

}  // namespace smoe
