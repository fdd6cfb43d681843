#include "text/grammar/token_masks.h"

#include <algorithm>
#include <utility>

namespace smoe {
namespace {

constexpr size_t kTokenMasksMostBytes = size_t{64} << 20U;
constexpr size_t kTokenMasksMostWork = 20'000'000;  // nodes looked at for one token
constexpr uint64_t kTokenMasksMostTurns = (1U << 15U) - 1;

void allow_token(TokenMask mask, TokenId token) {
  const size_t id = index_of(token);
  if (id / 64 < mask.size()) mask[id / 64] |= uint64_t{1} << (id % 64);
}

}  // namespace

TokenMasks::TokenMasks(std::shared_ptr<const Grammar> grammar,
                       std::shared_ptr<const TokenTree> tree)
    : grammar_(std::move(grammar)),
      tree_(std::move(tree)),
      local_(grammar_),
      path_(tree_->longest_bytes() + 1) {}

void TokenMasks::allow(Automaton& automaton, StackSet set, TokenMask mask) {
  work_ = 0;
  automaton.allow_work();
  local_.allow_work();
  for (size_t i = 0; i < automaton.tops(set).size(); ++i) {
    const GrammarFrame top = automaton.frame(automaton.tops(set)[i]);
    PlaceMask unfinished;
    const PlaceMask& place = mask_of(top, unfinished);
    const size_t words = std::min(place.bits.size(), mask.size());
    for (size_t word = 0; word < words; ++word) mask[word] |= place.bits[word];
    for (const TokenId token : place.tokens) allow_token(mask, token);
    if (!place.leaves.empty()) go_on(automaton, place, automaton.resume(top.parent), mask);
  }
}

// Calls visit(node, set) for the nodes in [first, end), all below one node, whose bytes the grammar
// takes.
template <class Visit>
void TokenMasks::walk(Automaton& automaton, uint32_t first, uint32_t end, StackSet from,
                      const Visit& visit) {
  if (first >= end) return;
  path_[tree_->node(first).depth - size_t{1}] = from;
  for (uint32_t index = first; index < end && work_ <= kTokenMasksMostWork; ++work_) {
    const TokenTree::Node& node = tree_->node(index);
    const StackSet set = automaton.step(path_[node.depth - size_t{1}], node.byte);
    if (set == Automaton::kDead) {
      index = node.end;
      continue;
    }
    path_[node.depth] = set;
    visit(index, set);
    ++index;
  }
}

void TokenMasks::go_on(Automaton& automaton, const PlaceMask& place, StackSet after,
                       TokenMask mask) {
  if (after == Automaton::kDead) return;
  for (const uint32_t leaf : place.leaves) {
    for (const TokenId token : tree_->tokens_at(leaf)) allow_token(mask, token);
    walk(automaton, leaf + 1, tree_->node(leaf).end, after, [&](uint32_t node, StackSet /*set*/) {
      for (const TokenId token : tree_->tokens_at(node)) allow_token(mask, token);
    });
  }
}

// Turns of a loop that are further from its bounds than a token can reach are alike.
uint64_t TokenMasks::key_of(const GrammarFrame& frame) const {
  const Grammar::State& state = grammar_->state(frame.state);
  if (state.counter == kNoBound) return frame.state;
  const Grammar::Counter& counter = grammar_->counter(state);
  const uint64_t reach = std::min<uint64_t>(tree_->longest_bytes() + 1, kTokenMasksMostTurns);
  const uint64_t missing = counter.least - std::min(counter.least, frame.turn);
  const uint64_t room = counter.most == kNoBound ? reach : counter.most - frame.turn;
  return frame.state | std::min(missing, reach) << 32U | std::min(room, reach) << 48U;
}

// A mask that was cut short for its cost is used, but not kept.
const TokenMasks::PlaceMask& TokenMasks::mask_of(const GrammarFrame& frame, PlaceMask& unfinished) {
  const uint64_t key = key_of(frame);
  if (const auto known = places_.find(key); known != places_.end()) return known->second;
  if (bytes_ > kTokenMasksMostBytes) {
    places_.clear();
    bytes_ = 0;
  }
  PlaceMask place = compute(frame);
  if (work_ > kTokenMasksMostWork) return unfinished = std::move(place);
  bytes_ += place.bits.size() * sizeof(uint64_t) + place.tokens.size() * sizeof(TokenId) +
            place.leaves.size() * sizeof(uint32_t) + sizeof(PlaceMask);
  return places_.emplace(key, std::move(place)).first->second;
}

TokenMasks::PlaceMask TokenMasks::compute(const GrammarFrame& frame) {
  PlaceMask place;
  if (local_.is_large()) local_.compact(Automaton::kDead);
  uint32_t highest = 0;
  walk(local_, 0, tree_->size(), local_.alone(frame), [&](uint32_t node, StackSet set) {
    if (local_.ends(set)) place.leaves.push_back(node);
    if (local_.tops(set).empty()) return;
    for (const TokenId token : tree_->tokens_at(node)) {
      place.tokens.push_back(token);
      highest = std::max(highest, static_cast<uint32_t>(index_of(token)));
    }
  });
  place.leaves.shrink_to_fit();
  const size_t words = highest / size_t{64} + 1;
  if (place.tokens.size() <= words) {
    place.tokens.shrink_to_fit();
    return place;
  }
  place.bits.assign(words, 0);
  for (const TokenId token : place.tokens) allow_token(place.bits, token);
  place.tokens = {};
  return place;
}

}  // namespace smoe
