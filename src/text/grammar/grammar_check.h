// What a compiled grammar must not do: call itself before it reads a byte, or count turns that read
// nothing. Otherwise running it would not end.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "text/grammar/grammar.h"

namespace smoe {

struct GrammarPart {
  std::string name;
  uint32_t start;
};

// Fails: as Grammar::compile().
Status check_grammar(const Grammar& grammar, std::span<const GrammarPart> parts);

}  // namespace smoe
