// The tokens that begin and end a text (BOS, EOS), as tokenizer_config.json names them.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/token.h"
#include "text/tokenizer.h"

namespace smoe {

struct EndTokens {
  std::optional<TokenId> bos;
  std::optional<TokenId> eos;
  bool add_bos = false;
  bool add_eos = false;

  // Puts BOS in front and EOS behind, each only when it is asked for and not there: a chat template
  // may have written it already.
  void complete(std::vector<TokenId>& tokens) const;
};

// `tokenizer_config_json` is the text of tokenizer_config.json, or "" where there is none. What it
// leaves open ("add_bos_token") is as the tokenizer's own post-processor does it.
// Fails: kCorrupt; the caller adds the file's name.
Result<EndTokens> read_end_tokens(std::string_view tokenizer_config_json,
                                  const Tokenizer& tokenizer);

}  // namespace smoe
