// Small tokenizers for tests.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "text/byte_alphabet.h"
#include "text/tokenizer.h"

namespace smoe::test {

inline std::string letters(std::string_view bytes) {
  std::string text;
  append_byte_letters(text, bytes);
  return text;
}

// "model" with a token for each byte (ids 0 to 255) and one for each merge, in order.
inline nlohmann::ordered_json byte_model(
    const std::vector<std::pair<std::string, std::string>>& merges = {}) {
  nlohmann::ordered_json vocab;
  for (int byte = 0; byte < 256; ++byte)
    vocab[letters(std::string(1, static_cast<char>(byte)))] = byte;
  auto pairs = nlohmann::ordered_json::array();
  for (const auto& [left, right] : merges) {
    const std::string joined = letters(left) + letters(right);
    if (!vocab.contains(joined)) vocab[joined] = vocab.size();
    pairs.push_back({letters(left), letters(right)});
  }
  return {{"type", "BPE"}, {"vocab", vocab}, {"merges", pairs}};
}

// "vocab" of a Unigram model; braces alone would make an object of such pairs.
inline nlohmann::ordered_json scored(const std::vector<std::pair<std::string, double>>& tokens) {
  auto vocab = nlohmann::ordered_json::array();
  for (const auto& [text, score] : tokens)
    vocab.push_back(nlohmann::ordered_json::array({text, score}));
  return vocab;
}

inline nlohmann::ordered_json byte_level(bool add_prefix_space = false, bool use_regex = false) {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", add_prefix_space},
          {"trim_offsets", true},
          {"use_regex", use_regex}};
}

inline nlohmann::ordered_json added_token(
    uint32_t id, const std::string& content,
    const nlohmann::ordered_json& flags = nlohmann::ordered_json::object()) {
  nlohmann::ordered_json token = {{"id", id},        {"content", content}, {"single_word", false},
                                  {"lstrip", false}, {"rstrip", false},    {"normalized", false},
                                  {"special", true}};
  token.update(flags);
  return token;
}

// A whole tokenizer.json over bytes.
inline nlohmann::ordered_json byte_tokenizer() {
  return {{"version", "1.0"},          {"truncation", nullptr},
          {"padding", nullptr},        {"added_tokens", nlohmann::ordered_json::array()},
          {"normalizer", nullptr},     {"pre_tokenizer", byte_level()},
          {"post_processor", nullptr}, {"decoder", byte_level()},
          {"model", byte_model()}};
}

inline Json to_json(const nlohmann::ordered_json& value) { return *Json::parse(value.dump()); }

inline Tokenizer must_parse(const nlohmann::ordered_json& description) {
  auto tokenizer = Tokenizer::parse(description.dump(), "test.json");
  if (!tokenizer) throw std::runtime_error(tokenizer.error().message);
  return std::move(*tokenizer);
}

// What refuses the description; empty when nothing does.
inline std::string refusal(const nlohmann::ordered_json& description) {
  const auto tokenizer = Tokenizer::parse(description.dump(), "test.json");
  return tokenizer ? std::string() : tokenizer.error().message;
}

}  // namespace smoe::test
