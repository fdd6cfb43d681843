// Says which tokens may come next, for answers that must follow a grammar.
#pragma once

#include <cstdint>
#include <span>

#include "base/token.h"

namespace smoe {

// Bit `id % 64` of word `id / 64` stands for token `id`.
using TokenMask = std::span<uint64_t>;

// Follows one answer token by token. Threads: one.
class TokenFilter {
 public:
  virtual ~TokenFilter() = default;
  // Sets the bits of the tokens that may come next; all are clear before. A token that ends the
  // text is allowed where the text may end. With no bit set the text ends here.
  virtual void allow(TokenMask mask) = 0;
  // `token` was chosen, one of those that were allowed.
  virtual void accept(TokenId token) = 0;
};

}  // namespace smoe
