#include "text/grammar/grammar_shelf.h"

#include <algorithm>

namespace smoe {
namespace {

constexpr size_t kShelfMostGrammars = 16;

}  // namespace

Result<std::shared_ptr<TokenMasks>> GrammarShelf::find_or_make(
    const std::string& key, const std::function<Result<GrammarRules>()>& make) {
  const auto take = [&]() -> std::shared_ptr<TokenMasks> {
    const auto found = std::find_if(kept_.begin(), kept_.end(),
                                    [&](const auto& entry) { return entry.first == key; });
    if (found == kept_.end()) return nullptr;
    kept_.splice(kept_.begin(), kept_, found);
    return kept_.front().second;
  };
  {
    const std::lock_guard lock(mutex_);
    if (auto masks = take()) return masks;
  }
  // Nobody waits for another's grammar.
  SMOE_TRY(const GrammarRules rules, make());
  SMOE_TRY(Grammar grammar, Grammar::compile(rules));
  const std::lock_guard lock(mutex_);
  if (auto masks = take()) return masks;
  if (!tree_) tree_ = std::make_shared<const TokenTree>(tokenizer_);
  auto masks =
      std::make_shared<TokenMasks>(std::make_shared<const Grammar>(std::move(grammar)), tree_);
  kept_.emplace_front(key, masks);
  if (kept_.size() > kShelfMostGrammars) kept_.pop_back();
  return masks;
}

}  // namespace smoe
