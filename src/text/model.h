// The model of a tokenizer.json: from pieces of text to tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/token.h"
#include "text/bpe.h"
#include "text/unigram.h"
#include "text/vocabulary.h"

namespace smoe {

class Model {
 public:
  Model() = default;
  explicit Model(Bpe bpe) : model_(std::move(bpe)) {}
  explicit Model(Unigram unigram) : model_(std::move(unigram)) {}

  // `vocab` and `merges` are the JSON texts of these members of `description`, which are not looked
  // for in it. Fails: kUnsupported with the model's type or a field, kCorrupt.
  static Result<Model> from_json(const Json& description, std::string_view vocab,
                                 std::string_view merges);

  // Appends the tokens of one piece. Fails: kUnsupported for a character that cannot be said.
  Status encode(std::string_view piece, std::vector<TokenId>& tokens) const;
  // Where in the piece each of its tokens ends; the last one at its end.
  std::vector<size_t> ends_of(std::string_view piece, std::span<const TokenId> tokens) const;

  const Vocabulary& vocabulary() const;
  // Whether every character becomes some token.
  bool loses_nothing() const;

 private:
  std::variant<Bpe, Unigram> model_;
};

}  // namespace smoe
