#include "text/grammar/grammar_filter.h"

#include <utility>

namespace smoe {
namespace {

void set_end_bit(TokenMask mask, TokenId token, bool allowed) {
  const size_t id = index_of(token);
  if (id / 64 >= mask.size()) return;
  const uint64_t bit = uint64_t{1} << (id % 64);
  mask[id / 64] = allowed ? mask[id / 64] | bit : mask[id / 64] & ~bit;
}

}  // namespace

GrammarFilter::GrammarFilter(std::shared_ptr<TokenMasks> masks, const Tokenizer& tokenizer,
                             std::vector<TokenId> ends)
    : masks_(std::move(masks)),
      tokenizer_(tokenizer),
      ends_(std::move(ends)),
      automaton_(masks_->grammar()),
      at_(automaton_.start()) {}

void GrammarFilter::allow(TokenMask mask) {
  if (automaton_.is_large()) at_ = automaton_.compact(at_);
  masks_->allow(automaton_, at_, mask);
  for (const TokenId end : ends_) set_end_bit(mask, end, automaton_.ends(at_));
}

void GrammarFilter::accept(TokenId token) {
  automaton_.allow_work();
  const bool control = tokenizer_.is_special(token);
  if (control) at_ = automaton_.step(at_, static_cast<uint8_t>(kControlByte));
  for (const char byte : control ? tokenizer_.spelling_of(token) : tokenizer_.bytes_of(token))
    at_ = automaton_.step(at_, static_cast<uint8_t>(byte));
}

}  // namespace smoe
