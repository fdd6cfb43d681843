// What the names in tokenizer.ggml.pre stand for.
#pragma once

#include <array>
#include <string_view>

#include "base/result.h"

namespace smoe {

struct GgufPretokenizer {
  std::array<std::string_view, 3> names;     // spellings
  std::array<std::string_view, 6> patterns;  // split by each in turn, the matches apart; then bytes
  bool nfc = false;                          // text is composed first
  bool whole_pieces = false;  // a piece that is a token is not merged anew ("ignore_merges")
  bool adds_bos = false;      // unless tokenizer.ggml.add_bos_token says otherwise
};

// Fails: kUnsupported, with the list that works.
Result<const GgufPretokenizer*> pretokenizer_named(std::string_view name);

}  // namespace smoe
