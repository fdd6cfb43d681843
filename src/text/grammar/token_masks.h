// Which tokens a grammar allows: for each place in a rule, and whatever called it, the tokens that
// stay within the rule are found once and kept. The others, which end the rule and go on in its
// caller, are few, and are tried in each text.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "text/grammar/automaton.h"
#include "text/grammar/token_tree.h"
#include "text/token_filter.h"

namespace smoe {

// Threads: one at a time; all answers that one engine writes by this grammar share it.
// Cost: 3 ms for the first token inside a string, for 150,000 tokens; then less than 0.1 ms.
class TokenMasks {
 public:
  TokenMasks(std::shared_ptr<const Grammar> grammar, std::shared_ptr<const TokenTree> tree);

  // Sets the bits of the tokens that may follow `set`, of `automaton`, which runs the same grammar.
  void allow(Automaton& automaton, StackSet set, TokenMask mask);

  const std::shared_ptr<const Grammar>& grammar() const { return grammar_; }

 private:
  struct PlaceMask {
    std::vector<uint64_t> bits;    // where they are many
    std::vector<TokenId> tokens;   // where they are few
    std::vector<uint32_t> leaves;  // nodes of the tree at which the rule may have ended
  };

  const PlaceMask& mask_of(const GrammarFrame& frame, PlaceMask& unfinished);
  uint64_t key_of(const GrammarFrame& frame) const;
  PlaceMask compute(const GrammarFrame& frame);
  void go_on(Automaton& automaton, const PlaceMask& place, StackSet after, TokenMask mask);
  template <class Visit>
  void walk(Automaton& automaton, uint32_t first, uint32_t end, StackSet from, const Visit& visit);

  std::shared_ptr<const Grammar> grammar_;
  std::shared_ptr<const TokenTree> tree_;
  Automaton local_;  // runs places whose caller is unknown
  std::unordered_map<uint64_t, PlaceMask> places_;
  size_t bytes_ = 0;
  std::vector<StackSet> path_;  // by depth in the tree
  size_t work_ = 0;             // nodes looked at for this token
};

}  // namespace smoe
