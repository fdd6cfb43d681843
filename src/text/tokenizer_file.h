// Reads a tokenizer.json into the parts that a tokenizer is made of.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/token.h"
#include "text/added_tokens.h"
#include "text/bpe.h"
#include "text/normalizer.h"
#include "text/pretokenizer.h"

namespace smoe {

// What the post-processor puts around a text when special tokens are asked for.
struct Affixes {
  std::vector<TokenId> before;
  std::vector<TokenId> after;
};

struct TokenizerFile {
  AddedTokens added;
  Normalizer normalizer;
  Pretokenizer pretokenizer;
  Bpe model;
  Affixes affixes;
};

// Fails: kCorrupt, kUnsupported. The caller adds the file's name.
Result<TokenizerFile> read_tokenizer_file(std::string_view json);

}  // namespace smoe
