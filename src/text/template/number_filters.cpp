// Filters for numbers, and `default`.
#include <cmath>

#include "text/template/numbers.h"
#include "text/template/operators.h"
#include "text/template/tables.h"

namespace smoe::jinja {
namespace {

using Answer = Result<Value>;

Answer default_filter(Call& call) {
  const bool replaced =
      call.self().is_undefined() || (call.flag(1, false) && !call.self().is_true());
  if (!replaced) return call.self();
  return call.at(0) != nullptr ? *call.at(0) : Value(MarkedText());
}

Answer abs_filter(Call& call) {
  const Value& value = call.self();
  if (!value.is_number()) return call.wrong("needs a number");
  if (value.is_float()) return Value(std::fabs(value.floating()));
  if (value.is_bool()) return Value(value.small_int().value_or(0));
  const bool negative = std::is_lt(compare_numbers(value, Value(int64_t{0})));
  return negative ? negate(value) : value;
}

// What int() and then int(float()) make of it; nothing where both raise an error.
Result<std::optional<Value>> to_integer(const Value& value, int64_t base) {
  if (value.is_undefined()) return undefined_error(value);
  if (value.is_bool()) return std::optional<Value>(Value(value.small_int().value_or(0)));
  if (value.is_integer()) return std::optional<Value>(value);
  std::optional<double> number;
  if (value.is_float()) number = value.floating();
  if (value.is_string()) {
    if (auto integer = parse_integer(value.bytes(), base)) return integer;
    number = parse_float(value.bytes());
  }
  if (!number || std::isnan(*number)) return std::optional<Value>();
  SMOE_TRY(Value whole, truncate(*number));
  return std::optional<Value>(std::move(whole));
}

Answer int_filter(Call& call) {
  SMOE_TRY(const int64_t base, call.integer(1, 10));
  SMOE_TRY(std::optional<Value> number, to_integer(call.self(), base));
  if (number) return std::move(*number);
  return call.at(0) != nullptr ? *call.at(0) : Value(int64_t{0});
}

Answer float_filter(Call& call) {
  const Value& value = call.self();
  if (value.is_undefined()) return undefined_error(value);
  if (value.is_number()) {
    const double number = to_double(value);
    if (std::isinf(number) && !value.is_float()) return call.wrong("the integer is too large");
    return Value(number);
  }
  if (value.is_string())
    if (const auto number = parse_float(value.bytes())) return Value(*number);
  return call.at(0) != nullptr ? *call.at(0) : Value(0.0);
}

Answer round_filter(Call& call) {
  SMOE_TRY(const int64_t precision, call.integer(0, 0));
  if (precision < -400 || precision > 400) return call.wrong("the precision is out of range");
  if (!call.self().is_number()) return call.wrong("needs a number");
  std::string_view method = "common";
  if (call.at(1) != nullptr) {
    SMOE_TRY(const MarkedText* name, call.text(1));
    method = name->bytes();
  }
  if (method == "common") return round_number(call.self(), precision);
  if (method != "ceil" && method != "floor")
    return call.wrong("the method must be common, ceil or floor");
  const double unit = std::pow(10.0, static_cast<double>(precision));
  const double scaled = to_double(call.self()) * unit;
  if (!std::isfinite(scaled)) return call.wrong("cannot convert to an integer");
  // In Python the rounded number is an int for a moment, which has no negative zero.
  return Value(((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) + 0.0) / unit);
}

constexpr Routine kNumberFilters[] = {
    {"abs", "", abs_filter},
    {"d", "default_value?,boolean?", default_filter},
    {"default", "default_value?,boolean?", default_filter},
    {"float", "default?", float_filter},
    {"int", "default?,base?", int_filter},
    {"round", "precision?,method?", round_filter},
};

}  // namespace

std::span<const Routine> number_filters() { return kNumberFilters; }

}  // namespace smoe::jinja
