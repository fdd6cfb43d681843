// Mutations that know what a header looks like: a number becomes one that lies near a limit, a word
// one of the format's own. Bytes alone would nearly always end in "this is no JSON".
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <vector>

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace smoe::fuzz {

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Another number in place of a random one.
inline void change_number(std::string& text, std::mt19937& random) {
  constexpr std::array<std::string_view, 16> kNumbers = {"0",
                                                         "1",
                                                         "2",
                                                         "3",
                                                         "8",
                                                         "15",
                                                         "16",
                                                         "64",
                                                         "128",
                                                         "16384",
                                                         "4294967295",
                                                         "4294967296",
                                                         "9223372036854775807",
                                                         "-1",
                                                         "18446744073709551615",
                                                         "18446744073709551616"};
  const size_t from = text.find_first_of("0123456789", random() % text.size());
  if (from == std::string::npos) return;
  size_t to = from;
  while (to < text.size() && is_digit(text[to])) ++to;
  std::string number = text.substr(from, to - from);
  const auto choice = random() % 3;
  if (choice == 0 || number.size() > 18) {
    number = kNumbers[random() % kNumbers.size()];
  } else {
    const uint64_t value = std::stoull(number);
    number = std::to_string(choice == 1 ? value + 1 : value * 2);
  }
  text.replace(from, to - from, number);
}

// A piece of the text copied over, or put in front of, another place.
inline void move_piece(std::string& text, std::mt19937& random) {
  const size_t from = random() % text.size();
  const std::string piece = text.substr(from, 1 + random() % 60);
  const size_t to = random() % text.size();
  if (random() % 2 == 0) {
    text.insert(to, piece);
  } else {
    text.replace(to, piece.size(), piece);
  }
}

inline void insert_word(std::string& text, std::mt19937& random,
                        const std::vector<std::string_view>& words) {
  const std::string_view word = words[random() % words.size()];
  const size_t at = random() % text.size();
  if (random() % 2 == 0) {
    text.insert(at, word);
  } else {
    text.replace(at, word.size(), word);
  }
}

// The body of a custom mutator. The first `fixed` bytes select a mode and are changed as bytes.
inline size_t mutate(uint8_t* data, size_t size, size_t max_size, unsigned seed, size_t fixed,
                     const std::vector<std::string_view>& words) {
  std::mt19937 random(seed);
  if (size <= fixed || random() % 4 == 0) return LLVMFuzzerMutate(data, size, max_size);
  std::string text(reinterpret_cast<const char*>(data) + fixed, size - fixed);
  for (auto edits = 1 + random() % 3; edits > 0 && !text.empty(); --edits) {
    const auto kind = random() % 5;
    if (kind <= 1) change_number(text, random);
    if (kind == 2) move_piece(text, random);
    if (kind == 3) insert_word(text, random, words);
    if (kind == 4) text.erase(random() % text.size(), 1 + random() % 20);
  }
  const size_t bytes = std::min(text.size(), max_size - fixed);
  std::memcpy(data + fixed, text.data(), bytes);
  return fixed + bytes;
}

}  // namespace smoe::fuzz
