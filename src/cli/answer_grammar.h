// --json-schema and --grammar: what an answer must follow.
#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "base/token.h"
#include "cli/settings.h"
#include "text/token_filter.h"
#include "text/tokenizer.h"

namespace smoe::cli {

// nullptr without either; `thought_begun`: the prompt ends in an open thought, which comes first.
// Fails: kUsage for both, and for what cannot be followed, naming the file; as read_any_file().
Result<std::unique_ptr<TokenFilter>> answer_grammar(const Settings& settings,
                                                    const Tokenizer& tokenizer, bool thought_begun,
                                                    const std::vector<TokenId>& stops);

}  // namespace smoe::cli
