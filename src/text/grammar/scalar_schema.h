// Strings and numbers of a schema as expressions.
#pragma once

#include "base/result.h"
#include "text/grammar/json_rules.h"
#include "text/grammar/schema_document.h"

namespace smoe {

// Fails: kUsage, naming what is not supported.
Result<Expression> string_schema(JsonRules& json, const Conjunction& schemas);
Result<Expression> number_schema(JsonRules& json, const Conjunction& schemas, bool whole);

}  // namespace smoe
