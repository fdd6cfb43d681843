// Byte-pair encoding: from a piece of text to tokens by merging neighbours, lowest rank first.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/token.h"
#include "text/packed_array.h"
#include "text/vocabulary.h"

namespace smoe {

class Bpe {
 public:
  // `description` is the value of "model", `vocab` and `merges` the JSON text of these members of
  // it, which are not looked for in the description. Fails: kUnsupported, kCorrupt, naming the
  // field.
  static Result<Bpe> from_json(const Json& description, std::string_view vocab,
                               std::string_view merges);

  // Two neighbours and what they become.
  struct MergeRule {
    TokenId left;
    TokenId right;
    TokenId result;
  };
  // The same from tables that have been read before; `rules` by rank.
  static Result<Bpe> make(const Json& description, Vocabulary vocabulary,
                          PackedArray<MergeRule> rules);
  // The merges of a tokenizer.json, by rank.
  static Result<std::vector<MergeRule>> read_merges(std::string_view json,
                                                    const Vocabulary& vocabulary);
  static Result<Vocabulary> read_vocabulary(std::string_view json);

  // Appends the tokens of one piece. Characters without a token become those of their bytes where
  // the model says so, else the unknown token, or nothing where the vocabulary has none.
  // Threads: any, at once. Cost: n log n in the piece's length.
  void encode(std::string_view piece, std::vector<TokenId>& tokens) const;

  const Vocabulary& vocabulary() const { return vocabulary_; }
  bool has_unknown_token() const { return unknown_.has_value(); }
  // Whether each byte has a token of its own that stands in for characters without one.
  bool covers_all_bytes() const;

 private:
  // Pairs of neighbours in an open-addressing table, one 64-bit word each: both ids and the rank.
  class MergeTable {
   public:
    static constexpr uint32_t kNone = UINT32_MAX;

    void reserve(size_t merges);
    void set(TokenId left, TokenId right, uint32_t rank);  // a later one replaces
    void prefetch(TokenId left, TokenId right) const;
    // The rank, or kNone.
    uint32_t find(TokenId left, TokenId right) const;

   private:
    size_t slot_of(uint64_t pair) const;
    std::vector<uint64_t> slots_;
  };

  Status read_options(const Json& description);
  bool append_bytes(std::string_view character, std::vector<TokenId>& tokens) const;
  void append_characters(std::string_view piece, std::vector<TokenId>& tokens) const;
  void merge_few(std::vector<TokenId>& tokens, size_t begin) const;
  void merge_many(std::vector<TokenId>& tokens, size_t begin) const;

  Vocabulary vocabulary_;
  MergeTable merges_;
  std::vector<TokenId> results_;            // by rank
  std::vector<uint32_t> short_characters_;  // ids of characters below U+0200
  std::vector<uint32_t> byte_tokens_;       // by byte; empty without byte_fallback
  std::optional<TokenId> unknown_;
  bool fuse_unknown_ = false;
  bool ignore_merges_ = false;
};

}  // namespace smoe
