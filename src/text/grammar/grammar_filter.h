// Holds an answer to a grammar.
#pragma once

#include <memory>
#include <vector>

#include "base/token.h"
#include "text/grammar/token_masks.h"
#include "text/token_filter.h"
#include "text/tokenizer.h"

namespace smoe {

// The text ends where the grammar does: with one of `ends`, or, where nothing may follow, without.
// One that has thousands of readings of a text ends it early.
// Threads: that of `masks`. Lifetime: ends before the tokenizer.
// Cost: no allocation once the places of the grammar were seen.
class GrammarFilter final : public TokenFilter {
 public:
  GrammarFilter(std::shared_ptr<TokenMasks> masks, const Tokenizer& tokenizer,
                std::vector<TokenId> ends);

  void allow(TokenMask mask) override;
  void accept(TokenId token) override;

  // Whether the text so far is complete.
  bool complete() const { return automaton_.ends(at_); }

 private:
  std::shared_ptr<TokenMasks> masks_;
  const Tokenizer& tokenizer_;
  std::vector<TokenId> ends_;
  Automaton automaton_;
  StackSet at_;
};

}  // namespace smoe
