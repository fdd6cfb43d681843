// Token ids as text: {"ids":[1,2]}, [1,2], or numbers between spaces, commas and line ends.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/token.h"

namespace smoe::cli {

// Fails: kCorrupt, saying what stands where an id should; the caller adds the source's name.
Result<std::vector<TokenId>> parse_token_list(std::string_view text);

// {"ids":[1,2]}
std::string token_list_json(std::span<const TokenId> ids);

}  // namespace smoe::cli
