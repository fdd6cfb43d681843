// Byte-pair encoding: from a piece of text to tokens by merging neighbours, lowest rank first.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/token.h"
#include "text/vocabulary.h"

namespace smoe {

class Bpe {
 public:
  // `description` is the value of "model", `vocab` and `merges` the JSON text of these members of
  // it, which are not looked for in the description. Fails: kUnsupported, kCorrupt, naming the
  // field.
  static Result<Bpe> from_json(const Json& description, std::string_view vocab,
                               std::string_view merges);

  // Appends the tokens of one piece. Characters without a token become the unknown token, or
  // nothing where the vocabulary has none.
  // Threads: any, at once. Cost: n log n in the piece's length.
  void encode(std::string_view piece, std::vector<TokenId>& tokens) const;

  const Vocabulary& vocabulary() const { return vocabulary_; }
  bool has_unknown_token() const { return unknown_.has_value(); }

 private:
  struct Merge {
    uint32_t rank;
    TokenId result;
  };
  // Pairs of neighbours in an open-addressing table.
  class MergeTable {
   public:
    void reserve(size_t merges);
    void set(TokenId left, TokenId right, Merge merge);  // a later one replaces
    const Merge* find(TokenId left, TokenId right) const;

   private:
    struct Slot {
      uint64_t pair = UINT64_MAX;
      Merge merge{};
    };
    size_t slot_of(uint64_t pair) const;
    std::vector<Slot> slots_;
  };

  struct RankedPair {
    TokenId left;
    TokenId right;
    Merge merge;
  };

  Status read_vocabulary(std::string_view json);
  Status read_merges(std::string_view json);
  Result<RankedPair> find_merge(std::string_view left, std::string_view right, uint32_t rank) const;
  void append_characters(std::string_view piece, std::vector<TokenId>& tokens) const;
  void merge_few(std::vector<TokenId>& tokens, size_t begin) const;
  void merge_many(std::vector<TokenId>& tokens, size_t begin) const;

  Vocabulary vocabulary_;
  MergeTable merges_;
  std::vector<uint32_t> short_characters_;  // ids of characters below U+0200
  std::optional<TokenId> unknown_;
  bool fuse_unknown_ = false;
  bool ignore_merges_ = false;
};

}  // namespace smoe
