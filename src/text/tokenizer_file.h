// Reads a tokenizer.json into the parts that a tokenizer is made of.
#pragma once

#include <functional>
#include <string_view>

#include "base/result.h"
#include "text/added_tokens.h"
#include "text/decoder.h"
#include "text/model.h"
#include "text/normalizer.h"
#include "text/pretokenizer.h"
#include "text/tokenizer.h"

namespace smoe {

struct TokenizerFile {
  AddedTokens added;
  Normalizer normalizer;
  Pretokenizer pretokenizer;
  Model model;
  Tokenizer::Affixes affixes;
  Decoder decoder;
};

// Fails: kCorrupt, kUnsupported. The caller adds the file's name.
Result<TokenizerFile> read_tokenizer_file(std::string_view json);

// The same for text whose tables are somewhere else: read_model makes the model from its
// description.
using ReadModel = std::function<Result<Model>(const Json& description)>;
Result<TokenizerFile> read_tokenizer_parts(std::string_view json, const ReadModel& read_model);

}  // namespace smoe
