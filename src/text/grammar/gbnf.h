// Grammars in llama.cpp's notation (GBNF).
#pragma once

#include <string_view>

#include "base/result.h"
#include "text/grammar/rules.h"

namespace smoe {

// `name ::= ...` with "text" in quotes, [sets], `.`, (groups), |, and * + ? {n} {n,} {n,m};
// comments begin with #. The rule `root` is the whole. Not taken: token marks such as <[7]>. Fails:
// kUsage, naming the line.
Result<GrammarRules> parse_gbnf(std::string_view text);

}  // namespace smoe
