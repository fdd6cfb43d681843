// What Python's operators, `in`, subscripts and attribute lookups mean for values.
#pragma once

#include <string_view>

#include "base/result.h"
#include "text/template/numbers.h"
#include "text/template/run.h"
#include "text/template/value.h"

namespace smoe::jinja {

enum class Comparison : uint8_t { kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual };

// Says what is missing: "'x' is undefined".
Error undefined_error(const Value& value);
Error type_error(std::string message);

Result<bool> is_equal(Run& run, const Value& a, const Value& b);
Result<bool> is_less(Run& run, const Value& a, const Value& b);
Result<bool> compare(Run& run, Comparison comparison, const Value& a, const Value& b);
Result<bool> contains(Run& run, const Value& container, const Value& item);

// Also joins strings and lists, repeats them, and formats with `%`.
Result<Value> apply(Run& run, Arithmetic operation, const Value& a, const Value& b);
Result<MarkedText> percent_format(Run& run, const MarkedText& format, const Value& arguments);

// `name` must live as long as the template: an undefined result remembers it.
Result<Value> get_attribute(const Value& object, const std::string& name);
Result<Value> get_item(const Value& object, const Value& key);
// Absent bounds are None.
Result<Value> get_slice(Run& run, const Value& object, const Value& begin, const Value& end,
                        const Value& step);

// The items that a `for` would see. A generator gives its items once.
Result<SequencePtr> iterate(Run& run, const Value& value);
// len(). Fails: kUsage for what has none.
Result<int64_t> length_of(const Value& value);

}  // namespace smoe::jinja
