// Python's numbers: how they are written, read, compared and computed with.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "text/template/value.h"

namespace smoe::jinja {

enum class Arithmetic : uint8_t {
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kFloorDivide,
  kModulo,
  kPower
};

// As repr() writes it: 1.0, 1e-07, inf.
std::string float_text(double number);
// Needs a number.
std::string number_text(const Value& number);
double to_double(const Value& number);

// `text` as JSON has it: an int when it has neither a point nor an exponent.
Value number_from_text(std::string_view text);
// Decimal digits with an optional '-'.
Value integer_from_digits(std::string_view digits);

// As int(text, base) and float(text) read strings; nothing when they would raise ValueError.
std::optional<Value> parse_integer(std::string_view text, int64_t base);
std::optional<double> parse_float(std::string_view text);
// Cuts off what is behind the point. Fails: kUsage for inf and nan.
Result<Value> truncate(double number);

// What arithmetic answers when the result, or an operand, has no room in 64 bits.
Error beyond_64_bits();

std::partial_ordering compare_numbers(const Value& a, const Value& b);

// Needs numbers. Fails: kUsage as Python does (division by zero, overflow of floats), and where an
// integer result has no room in 64 bits.
Result<Value> compute(Arithmetic operation, const Value& a, const Value& b);
Result<Value> negate(const Value& number);
// round(): the exact decimal value decides, ties go to the even digit.
Result<Value> round_number(const Value& number, int64_t digits);

}  // namespace smoe::jinja
