// Text to tokens, as the checkpoint's tokenizer.json says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/token.h"

namespace smoe {

class Tokenizer {
 public:
  // Reads DIR/tokenizer.json, or a tokenizer.json. Fails: kNotFound, kCorrupt, kUnsupported: an
  // unknown step stops with its name, nothing is guessed.
  static Result<Tokenizer> load(const std::filesystem::path& path);
  static Result<Tokenizer> parse(std::string_view tokenizer_json, std::string_view name);

  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  struct Encode {
    bool add_special = false;   // run the post-processor (BOS and the like)
    bool parse_special = true;  // special tokens written in the text are recognised
  };
  // Fails: kCorrupt for text that is no UTF-8 (with the byte offset), kUnsupported when a regex
  // passes its match limit.
  Result<std::vector<TokenId>> encode(std::string_view text, Encode options) const;
  Result<std::vector<TokenId>> encode(std::string_view text) const {
    return encode(text, Encode());
  }

  // Whole-sequence decoding, equal to the reference library's. Ids beyond the vocabulary decode to
  // nothing. The result is valid UTF-8: invalid bytes become U+FFFD.
  std::string decode(std::span<const TokenId> ids, bool skip_special) const;

  // Ids are 0 … size() - 1 (holes possible).
  size_t size() const;
  std::optional<TokenId> find(std::string_view token) const;
  bool is_special(TokenId id) const;
  // The raw bytes that a token stands for ("" beyond the vocabulary).
  std::string_view bytes_of(TokenId id) const;

 private:
  struct Impl;
  explicit Tokenizer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Streaming decoding: pieces whose concatenation is Tokenizer::decode() of the whole, never half a
// UTF-8 character, never a character late.
// Lifetime: ends before the tokenizer. Threads: one.
class Detokenizer {
 public:
  explicit Detokenizer(const Tokenizer& tokenizer, bool skip_special = true);
  // Text that is certain after this token; may be empty.
  std::string push(TokenId id);
  // What is left at the end: a truncated character becomes one U+FFFD.
  std::string finish();

 private:
  const Tokenizer& tokenizer_;
  bool skip_special_;
  std::string pending_;
};

}  // namespace smoe
