// Unigram: from a piece of text to the most probable sequence of tokens.
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

class Unigram {
 public:
  struct Options {
    std::optional<TokenId> unknown;
    bool byte_fallback = false;
  };

  // `description` is the value of "model", `vocab` the JSON text of this member of it.
  // Fails: kUnsupported, kCorrupt, naming the field.
  static Result<Unigram> from_json(const Json& description, std::string_view vocab);
  static Result<Options> read_options(const Json& description);
  // `scores` by id. Fails: kCorrupt.
  static Result<Unigram> make(Vocabulary vocabulary, std::vector<double> scores, Options options);

  // Appends the tokens of one piece. Fails: kUnsupported when a character has no token and the
  // vocabulary no unknown one.
  // Threads: any, at once. Cost: linear in the piece's length times that of the longest token.
  Status encode(std::string_view piece, std::vector<TokenId>& tokens) const;

  const Vocabulary& vocabulary() const { return vocabulary_; }
  const std::vector<double>& scores() const { return scores_; }
  bool has_unknown_token() const { return options_.unknown.has_value(); }

 private:
  // The best way to cover the text up to some place.
  struct Node {
    double score = 0.0;
    size_t begin = SIZE_MAX;  // of its last token; SIZE_MAX: no way found
    bool unknown = false;
  };
  Result<std::vector<Node>> best_paths(std::string_view piece) const;
  template <class Use>
  void for_each_prefix(std::string_view text, const Use& use) const;
  void append_token(std::string_view text, std::vector<TokenId>& tokens) const;

  Vocabulary vocabulary_;
  std::vector<double> scores_;
  std::vector<uint32_t> sorted_;       // ids by their bytes
  std::vector<uint32_t> byte_tokens_;  // by byte, UINT32_MAX for none; empty without fallback
  double unknown_score_ = 0.0;
  Options options_;
};

}  // namespace smoe
