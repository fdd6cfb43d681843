// The tokens that end a text: every place of a model folder that names one is heard.
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/token.h"
#include "text/tokenizer.h"

namespace smoe {

// The union of `configured` (eos_token_id of config.json), eos_token_id of generation_config.json
// and eos_token of tokenizer_config.json, ascending; files that are not there name none. Says on
// the log which they are, and warns of what was named but is no token of this tokenizer, which is
// left out.
// Fails: kCorrupt for a file that is no JSON, or an eos_token_id that is no id.
Result<std::vector<TokenId>> stop_tokens(const std::filesystem::path& model,
                                         std::span<const uint32_t> configured,
                                         const Tokenizer& tokenizer);

}  // namespace smoe
