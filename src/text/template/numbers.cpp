#include "text/template/numbers.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>

#include "text/template/characters.h"

namespace smoe::jinja {
namespace {

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr double kTwoTo63 = 9223372036854775808.0;

Error usage(std::string message) { return {Code::kUsage, std::move(message)}; }

// The digits of `text` without underscores; nothing when an underscore is not between two digits.
std::optional<std::string> without_underscores(std::string_view text) {
  std::string digits;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      digits += text[i];
    } else if (i == 0 || i + 1 == text.size() || text[i - 1] == '_' || text[i + 1] == '_' ||
               !is_ascii_alnum(text[i - 1]) || !is_ascii_alnum(text[i + 1])) {
      return std::nullopt;
    }
  }
  return digits;
}

std::optional<int> base_of_prefix(std::string_view digits) {
  if (digits.size() < 2 || digits[0] != '0') return std::nullopt;
  switch (digits[1]) {
    case 'x':
    case 'X':
      return 16;
    case 'o':
    case 'O':
      return 8;
    case 'b':
    case 'B':
      return 2;
    default:
      return std::nullopt;
  }
}

Result<Value> integer_power(int64_t base, int64_t exponent) {
  int64_t result = 1;
  while (exponent > 0) {
    if ((exponent & 1) != 0 && __builtin_mul_overflow(result, base, &result))
      return beyond_64_bits();
    exponent >>= 1;
    if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) return beyond_64_bits();
  }
  return Value(result);
}

int64_t floor_divide(int64_t a, int64_t b) {
  const int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

Result<Value> divide_integers(Arithmetic operation, int64_t a, int64_t b) {
  if (b == 0)
    return usage(operation == Arithmetic::kDivide ? "division by zero"
                                                  : "integer division or modulo by zero");
  if (operation == Arithmetic::kDivide)
    return Value(static_cast<double>(a) / static_cast<double>(b));
  if (b == -1) return operation == Arithmetic::kModulo ? Value(int64_t{0}) : negate(Value(a));
  const int64_t quotient = floor_divide(a, b);
  return Value(operation == Arithmetic::kModulo ? a - quotient * b : quotient);
}

Result<Value> compute_integers(Arithmetic operation, int64_t a, int64_t b) {
  int64_t result = 0;
  bool overflow = false;
  switch (operation) {
    case Arithmetic::kAdd:
      overflow = __builtin_add_overflow(a, b, &result);
      break;
    case Arithmetic::kSubtract:
      overflow = __builtin_sub_overflow(a, b, &result);
      break;
    case Arithmetic::kMultiply:
      overflow = __builtin_mul_overflow(a, b, &result);
      break;
    case Arithmetic::kPower:
      if (b >= 0) return integer_power(a, b);
      return compute(operation, Value(static_cast<double>(a)), Value(static_cast<double>(b)));
    default:
      return divide_integers(operation, a, b);
  }
  if (overflow) return beyond_64_bits();
  return Value(result);
}

// Python's float modulo: the result has the sign of the divisor.
double float_modulo(double a, double b) {
  double rest = std::fmod(a, b);
  if (rest != 0) {
    if ((b < 0) != (rest < 0)) rest += b;
  } else {
    rest = std::copysign(0.0, b);
  }
  return rest;
}

double float_floor_divide(double a, double b) {
  double rest = std::fmod(a, b);
  double quotient = (a - rest) / b;
  if (rest != 0 && (b < 0) != (rest < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(0.0, a / b);
  const double whole = std::floor(quotient);
  return quotient - whole > 0.5 ? whole + 1 : whole;
}

Result<Value> float_power(double a, double b) {
  if (a == 0 && b < 0) return usage("0.0 cannot be raised to a negative power");
  if (a < 0 && std::isfinite(a) && std::isfinite(b) && b != std::floor(b))
    return usage("a negative number to a fractional power is complex");
  const double result = std::pow(a, b);
  if (std::isinf(result) && std::isfinite(a) && std::isfinite(b))
    return usage("float result too large");
  return Value(result);
}

Result<Value> compute_floats(Arithmetic operation, double a, double b) {
  switch (operation) {
    case Arithmetic::kAdd:
      return Value(a + b);
    case Arithmetic::kSubtract:
      return Value(a - b);
    case Arithmetic::kMultiply:
      return Value(a * b);
    case Arithmetic::kPower:
      return float_power(a, b);
    default:
      break;
  }
  if (b == 0) return usage("float division by zero");
  if (operation == Arithmetic::kDivide) return Value(a / b);
  return Value(operation == Arithmetic::kModulo ? float_modulo(a, b) : float_floor_divide(a, b));
}

std::partial_ordering compare_digits(std::string_view a, std::string_view b) {
  const bool negative = a.starts_with('-');
  if (negative != b.starts_with('-'))
    return negative ? std::partial_ordering::less : std::partial_ordering::greater;
  if (a == b) return std::partial_ordering::equivalent;
  const bool smaller = a.size() != b.size() ? a.size() < b.size() : a < b;
  return smaller != negative ? std::partial_ordering::less : std::partial_ordering::greater;
}

// Exact, where a conversion to double would round the integer.
std::partial_ordering compare_with_float(int64_t a, double b) {
  if (std::isnan(b)) return std::partial_ordering::unordered;
  if (b >= kTwoTo63) return std::partial_ordering::less;
  if (b < -kTwoTo63) return std::partial_ordering::greater;
  const double whole = std::floor(b);
  const auto number = static_cast<int64_t>(whole);
  if (a != number) return a <=> number;
  return whole < b ? std::partial_ordering::less : std::partial_ordering::equivalent;
}

std::partial_ordering reversed(std::partial_ordering order) {
  if (order == std::partial_ordering::less) return std::partial_ordering::greater;
  if (order == std::partial_ordering::greater) return std::partial_ordering::less;
  return order;
}

// A float against an integer that is larger than every one of 64 bits.
std::partial_ordering compare_big_with_float(const std::string& digits, double b) {
  if (std::isnan(b)) return std::partial_ordering::unordered;
  const auto whole = truncate(b);
  if (!whole) return b > 0 ? std::partial_ordering::less : std::partial_ordering::greater;
  return compare_digits(digits, number_text(*whole));
}

}  // namespace

Error beyond_64_bits() { return usage("integer arithmetic beyond 64 bits is not supported"); }

std::string float_text(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
  std::array<char, 40> buffer{};
  const auto written = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number,
                                     std::chars_format::scientific);
  std::string_view text(buffer.data(), static_cast<size_t>(written.ptr - buffer.data()));
  const size_t e = text.find('e');
  int exponent = 0;
  const size_t sign = text[e + 1] == '+' ? 2 : 1;
  std::from_chars(text.data() + e + sign, text.data() + text.size(), exponent);
  std::string result = text.starts_with('-') ? "-" : "";
  std::string digits;
  for (const char c : text.substr(0, e))
    if (c >= '0' && c <= '9') digits += c;
  const auto count = static_cast<int>(digits.size());
  if (exponent < -4 || exponent >= 16) {
    result += digits[0];
    if (count > 1) result.append(".").append(digits, 1);
    result += exponent < 0 ? "e-" : "e+";
    const int magnitude = std::abs(exponent);
    return result + (magnitude < 10 ? "0" : "") + std::to_string(magnitude);
  }
  if (exponent < 0)
    return result + "0." + std::string(static_cast<size_t>(-exponent) - 1, '0') + digits;
  if (count <= exponent + 1)
    return result + digits +
           std::string(static_cast<size_t>(exponent) + 1 - static_cast<size_t>(count), '0') + ".0";
  const auto point = static_cast<size_t>(exponent) + 1;
  return result + digits.substr(0, point) + "." + digits.substr(point);
}

std::string number_text(const Value& number) {
  switch (number.kind()) {
    case Value::Kind::kBool:
      return number.boolean() ? "True" : "False";
    case Value::Kind::kBigInt:
      return number.big_digits();
    case Value::Kind::kFloat:
      return float_text(number.floating());
    default:
      return std::to_string(number.small_int().value_or(0));
  }
}

double to_double(const Value& number) {
  if (number.is_float()) return number.floating();
  if (const auto small = number.small_int()) return static_cast<double>(*small);
  return parse_float(number.big_digits()).value_or(0);
}

Value integer_from_digits(std::string_view digits) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error == std::errc{} && end == digits.data() + digits.size()) return Value(number);
  const bool negative = digits.starts_with('-');
  if (negative) digits.remove_prefix(1);
  const size_t first = std::min(digits.find_first_not_of('0'), digits.size() - 1);
  return Value(BigInt{
      std::make_shared<std::string>((negative ? "-" : "") + std::string(digits.substr(first)))});
}

Value number_from_text(std::string_view text) {
  if (text.find_first_of(".eE") == std::string_view::npos)
    return text == "-0" ? Value(int64_t{0}) : integer_from_digits(text);
  return Value(parse_float(text).value_or(0));
}

std::optional<Value> parse_integer(std::string_view text, int64_t base) {
  text = strip_spaces(text);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (const auto prefixed = base_of_prefix(text); prefixed && (base == 0 || base == *prefixed)) {
    base = *prefixed;
    text.remove_prefix(2);
    if (text.starts_with('_')) text.remove_prefix(1);
  } else if (base == 0) {
    // A leading zero is refused where it could be meant as octal.
    if (text.size() > 1 && text[0] == '0' && text.find_first_not_of("0_") != std::string_view::npos)
      return std::nullopt;
    base = 10;
  }
  const auto digits = without_underscores(text);
  if (!digits || digits->empty() || base < 2 || base > 36) return std::nullopt;
  const std::string signed_digits = (negative ? "-" : "") + *digits;
  int64_t number = 0;
  const char* end = signed_digits.data() + signed_digits.size();
  const auto [stop, error] =
      std::from_chars(signed_digits.data(), end, number, static_cast<int>(base));
  if (stop != end || !is_ascii_alnum((*digits)[0])) return std::nullopt;
  if (error == std::errc{}) return Value(number);
  if (base != 10) return std::nullopt;
  return integer_from_digits(signed_digits);
}

std::optional<double> parse_float(std::string_view text) {
  text = strip_spaces(text);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  const auto digits = without_underscores(text);
  if (!digits || digits->empty()) return std::nullopt;
  if (!is_ascii_digit((*digits)[0]) && (*digits)[0] != '.') {
    std::string word;
    for (const char c : *digits) word += to_ascii_lower(c);
    const double infinity = std::numeric_limits<double>::infinity();
    if (word == "inf" || word == "infinity") return negative ? -infinity : infinity;
    if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
    return std::nullopt;
  }
  double number = 0;
  const char* end = digits->data() + digits->size();
  const auto [stop, error] = std::from_chars(digits->data(), end, number);
  if (stop != end) return std::nullopt;
  // Out of range: Python gives infinity or zero, as strtod does.
  if (error == std::errc::result_out_of_range) number = std::strtod(digits->c_str(), nullptr);
  return negative ? -number : number;
}

Result<Value> truncate(double number) {
  if (std::isnan(number)) return usage("cannot convert float NaN to integer");
  if (std::isinf(number)) return usage("cannot convert float infinity to integer");
  const double whole = std::trunc(number);
  if (whole >= -kTwoTo63 && whole < kTwoTo63) return Value(static_cast<int64_t>(whole));
  std::array<char, 400> buffer{};
  const int length = std::snprintf(buffer.data(), buffer.size(), "%.0f", whole);
  return integer_from_digits({buffer.data(), static_cast<size_t>(length)});
}

std::partial_ordering compare_numbers(const Value& a, const Value& b) {
  const auto small_a = a.small_int();
  const auto small_b = b.small_int();
  if (small_a && small_b) return *small_a <=> *small_b;
  if (small_a && b.is_float()) return compare_with_float(*small_a, b.floating());
  if (small_b && a.is_float()) return reversed(compare_with_float(*small_b, a.floating()));
  if (a.is_float() && b.is_float()) return a.floating() <=> b.floating();
  if (b.is_float()) return compare_big_with_float(a.big_digits(), b.floating());
  if (a.is_float()) return reversed(compare_big_with_float(b.big_digits(), a.floating()));
  return compare_digits(number_text(a), number_text(b));
}

Result<Value> compute(Arithmetic operation, const Value& a, const Value& b) {
  if (a.is_float() || b.is_float()) return compute_floats(operation, to_double(a), to_double(b));
  const auto small_a = a.small_int();
  const auto small_b = b.small_int();
  if (!small_a || !small_b) return beyond_64_bits();
  return compute_integers(operation, *small_a, *small_b);
}

Result<Value> negate(const Value& number) {
  if (number.is_float()) return Value(-number.floating());
  if (const auto small = number.small_int()) {
    if (*small == kMin) return integer_from_digits("9223372036854775808");
    return Value(-*small);
  }
  const std::string& digits = number.big_digits();
  return integer_from_digits(digits.starts_with('-') ? digits.substr(1) : "-" + digits);
}

Result<Value> round_number(const Value& number, int64_t digits) {
  if (!number.is_float()) {
    if (digits < 0) return usage("rounding an integer to tens is not supported");
    return number.is_bool() ? Value(number.small_int().value_or(0)) : number;
  }
  const double value = number.floating();
  if (!std::isfinite(value) || digits > 308) return number;
  if (digits < 0) {
    const double unit = std::pow(10.0, static_cast<double>(-digits));
    return Value(digits < -308 ? std::copysign(0.0, value) : std::nearbyint(value / unit) * unit);
  }
  std::array<char, 700> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%.*f", static_cast<int>(digits), value);
  return Value(std::strtod(buffer.data(), nullptr));
}

}  // namespace smoe::jinja
