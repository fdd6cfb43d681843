// What a Tokenizer holds; for its own sources only.
#pragma once

#include <string>
#include <vector>

#include "text/tokenizer.h"
#include "text/tokenizer_file.h"
#include "text/vocabulary.h"

namespace smoe {

struct Tokenizer::Impl {
  TokenizerFile file;
  Vocabulary added;                 // only added tokens that the model's vocabulary lacks
  std::string bytes;                // what each id stands for, one after another
  std::vector<uint32_t> byte_ends;  // by id
  std::vector<bool> special;        // by id

  std::string_view bytes_of(TokenId id) const;
  std::string_view spelling_of(TokenId id) const;
  bool holds(TokenId id) const;
};

}  // namespace smoe
