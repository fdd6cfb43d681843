// Regular expressions of JSON schemas (ECMA-262), as far as they describe a regular language.
#pragma once

#include <string_view>

#include "base/result.h"
#include "text/grammar/rules.h"

namespace smoe {

// The strings of JSON, with quotes and escapes, in which `pattern` is found: without ^ and $
// anything may stand around it. Fails: kUsage, naming what is not supported (lookaround,
// backreferences, \b, \p) or malformed.
Result<Expression> string_matching(std::string_view pattern);

}  // namespace smoe
