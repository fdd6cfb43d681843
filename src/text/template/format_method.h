// str.format(), as far as templates use it.
#pragma once

#include "base/result.h"
#include "text/template/routine.h"

namespace smoe::jinja {

// Fields by position or name with an alignment, a width and the types of texts and numbers.
// Fails: kUsage for anything else that Python would accept.
Result<Value> format_method(Call& call);

}  // namespace smoe::jinja
