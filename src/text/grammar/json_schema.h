// JSON schemas as grammars: what is written by one is valid.
//
// type, enum, const, properties, required, additionalProperties, items, prefixItems, minItems,
// maxItems, minLength, maxLength, pattern (text/grammar/pattern.h), format (date, time, date-time,
// uuid, email, ipv4, uri), whole bounds of numbers, anyOf, oneOf (taken as anyOf), allOf, $ref
// within the schema, $defs. Members come in the order of `properties`; with `properties` and
// without `additionalProperties` there are no others.
#pragma once

#include "base/json.h"
#include "base/result.h"
#include "text/grammar/rules.h"

namespace smoe {

// Adds the rules of a schema; the expression is the whole value. Fails: kUsage, naming a keyword
// that is not supported, or what contradicts itself, and where it is.
Result<Expression> schema_value(GrammarRules& rules, const Json& schema);

// The same as a grammar of its own.
Result<GrammarRules> schema_rules(const Json& schema);
// Any object.
GrammarRules object_rules();

}  // namespace smoe
