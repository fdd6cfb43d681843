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
#include "text/decoder.h"

namespace smoe {

class Tokenizer {
 public:
  // Reads DIR/tokenizer.json, or a tokenizer.json; in its place the tokenizer.bin beside it where
  // that was made from it; or what the keys of a GGUF file say. Fails: kNotFound, kCorrupt,
  // kUnsupported: an unknown step stops with its name, nothing is guessed.
  static Result<Tokenizer> load(const std::filesystem::path& path);
  static Result<Tokenizer> parse(std::string_view tokenizer_json, std::string_view name);
  // The compact form of a tokenizer.json (text/compact_file.h), which load() prefers. Fails:
  // kCorrupt for any bytes that are none.
  static Result<Tokenizer> parse_compact(std::string_view compact, std::string_view name);

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

  // A stretch of a text that is made of several.
  struct Span {
    std::string_view text;
    bool trusted;  // written by the template, not by a user, a tool or the model
  };
  struct SpanTokens {
    std::vector<TokenId> tokens;
    std::vector<uint32_t> spans;  // for each token the span in which it begins
  };
  // Encodes the spans as one text, but text that is not trusted never becomes a control token
  // (AddedToken::is_control), nor does a part of one: such a token is found only within trusted
  // spans that touch. Fails: as encode().
  Result<SpanTokens> encode_spans(std::span<const Span> spans) const;

  struct Explanation {
    TokenId id;
    std::string_view text;  // what of the text became this token; all of them make up the text
  };
  // Fails: as encode(). Lifetime: the explanations refer to `text`.
  Result<std::vector<Explanation>> explain(std::string_view text, Encode options) const;

  // What the post-processor puts around a text when special tokens are asked for.
  struct Affixes {
    std::vector<TokenId> before;
    std::vector<TokenId> after;
  };
  const Affixes& affixes() const;

  // Whole-sequence decoding, equal to the reference library's. Ids beyond the vocabulary decode to
  // nothing. The result is valid UTF-8: invalid bytes become U+FFFD.
  std::string decode(std::span<const TokenId> ids, bool skip_special) const;

  // Ids are 0 … size() - 1 (holes possible).
  size_t size() const;
  // Of all tokens, the most bytes that one stands for. Cost: a look at each.
  size_t longest_token_bytes() const;
  std::optional<TokenId> find(std::string_view token) const;
  bool is_special(TokenId id) const;
  // The raw bytes that a token stands for in the middle of a text ("" beyond the vocabulary).
  std::string_view bytes_of(TokenId id) const;
  // The token as the vocabulary spells it ("Ġthe" for " the"; "" beyond the vocabulary).
  std::string_view spelling_of(TokenId id) const;

 private:
  friend class Detokenizer;
  struct Impl;
  explicit Tokenizer(std::unique_ptr<Impl> impl);
  static Result<Tokenizer> make(struct TokenizerFile file, std::string_view name);
  std::unique_ptr<Impl> impl_;
};

// Streaming decoding: pieces whose concatenation is Tokenizer::decode() of the whole, never half a
// UTF-8 character, and each as soon as no later token can change it.
// Lifetime: ends before the tokenizer. Threads: one.
class Detokenizer {
 public:
  explicit Detokenizer(const Tokenizer& tokenizer, bool skip_special = true);
  // Text that is certain after this token; may be empty.
  std::string push(TokenId id);
  // What is left at the end: a truncated character becomes one U+FFFD. Another text may follow.
  std::string finish();

 private:
  const Tokenizer& tokenizer_;
  bool skip_special_;
  Decoder::Stream stream_;
};

}  // namespace smoe
