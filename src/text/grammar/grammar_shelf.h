// The grammars that a model was asked to follow last, ready to be followed again.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "base/result.h"
#include "text/grammar/token_masks.h"
#include "text/tokenizer.h"

namespace smoe {

// Threads: any; the masks are for one thread at a time (text/grammar/token_masks.h).
class GrammarShelf {
 public:
  // Lifetime: ends before the tokenizer. Cost: the vocabulary is sorted when it is first needed.
  explicit GrammarShelf(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  // What was made for `key` before, or is made now. Fails: as `make` and Grammar::compile().
  Result<std::shared_ptr<TokenMasks>> find_or_make(
      const std::string& key, const std::function<Result<GrammarRules>()>& make);

 private:
  const Tokenizer& tokenizer_;
  std::mutex mutex_;
  std::shared_ptr<const TokenTree> tree_;
  std::list<std::pair<std::string, std::shared_ptr<TokenMasks>>> kept_;  // last used first
};

}  // namespace smoe
