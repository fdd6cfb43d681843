#include "text/byte_alphabet.h"

#include <algorithm>
#include <array>

#include "text/utf8.h"

namespace smoe {
namespace {

constexpr size_t kLetterLimit = 0x144;  // 0x100 plus the 68 bytes that are not printable
constexpr uint16_t kNoByte = 0x100;

constexpr bool stands_for_itself(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

struct Alphabet {
  std::array<uint16_t, 256> letters{};
  std::array<uint16_t, kLetterLimit> bytes{};
};

constexpr Alphabet make_alphabet() {
  Alphabet alphabet;
  alphabet.bytes.fill(kNoByte);
  uint16_t next = 0x100;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const uint16_t letter = stands_for_itself(byte) ? static_cast<uint16_t>(byte) : next++;
    alphabet.letters[byte] = letter;
    alphabet.bytes[letter] = static_cast<uint16_t>(byte);
  }
  return alphabet;
}

constexpr Alphabet kAlphabet = make_alphabet();

}  // namespace

char32_t letter_of_byte(uint8_t byte) { return kAlphabet.letters[byte]; }

std::optional<uint8_t> byte_of_letter(char32_t letter) {
  if (letter >= kLetterLimit || kAlphabet.bytes[letter] == kNoByte) return std::nullopt;
  return static_cast<uint8_t>(kAlphabet.bytes[letter]);
}

void append_byte_letters(std::string& text, std::string_view bytes) {
  for (const char byte : bytes) append_utf8(text, letter_of_byte(static_cast<uint8_t>(byte)));
}

void append_bytes_of_letters(std::string& bytes, std::string_view token) {
  const size_t begin = bytes.size();
  bytes.resize(begin + token.size());  // at most one byte for each of a letter
  char* to = bytes.data() + begin;
  for (size_t at = 0; at < token.size(); ++at) {
    // Letters have one byte or two; a vocabulary of 200,000 tokens is read at each start.
    char32_t letter = static_cast<unsigned char>(token[at]);
    if (letter >= 0x80 && at + 1 < token.size()) {
      const auto second = static_cast<unsigned char>(token[++at]);
      letter = letter < 0xe0 ? ((letter & 0x1fu) << 6) | (second & 0x3fu) : char32_t{kLetterLimit};
    }
    const uint16_t byte = letter < kLetterLimit ? kAlphabet.bytes[letter] : kNoByte;
    if (byte == kNoByte) {
      std::copy(token.begin(), token.end(), bytes.data() + begin);
      return;
    }
    *to++ = static_cast<char>(byte);
  }
  bytes.resize(static_cast<size_t>(to - bytes.data()));
}

}  // namespace smoe
