// The `%` of Python's strings.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "text/template/characters.h"
#include "text/template/operators.h"
#include "text/template/printing.h"
#include "text/utf8.h"

namespace smoe::jinja {
namespace {

constexpr int64_t kMaxWidth = 10'000;

struct Directive {
  bool left = false;
  bool zero = false;
  bool plus = false;
  bool space = false;
  bool alternate = false;
  int64_t width = 0;
  int64_t precision = -1;
  char conversion = 's';
};

class PercentFormatter {
 public:
  PercentFormatter(Run& run, const MarkedText& format, const Value& arguments)
      : run_(run), format_(format), arguments_(arguments) {
    if (arguments.is_sequence() && arguments.sequence()->flavor == Sequence::Flavor::kTuple)
      tuple_ = arguments.sequence().get();
  }

  Result<MarkedText> format() {
    const std::string_view bytes = format_.bytes();
    while (at_ < bytes.size()) {
      const size_t percent = std::min(bytes.find('%', at_), bytes.size());
      result_.append(format_, at_, percent);
      at_ = percent;
      if (at_ < bytes.size()) SMOE_DO(directive());
      SMOE_DO(run_.spend_bytes(result_.size() / 16));
    }
    const bool all_used = tuple_ != nullptr ? used_ == tuple_->items.size() : used_ > 0;
    const bool is_mapping = arguments_.is_dict() || (arguments_.is_sequence() && tuple_ == nullptr);
    if (!all_used && !is_mapping)
      return type_error("not all arguments converted during string formatting");
    return std::move(result_);
  }

 private:
  char peek() const { return at_ < format_.size() ? format_.bytes()[at_] : '\0'; }

  Status directive() {
    const Origin origin = format_.origin_at(at_);
    ++at_;
    std::optional<Value> named;
    if (peek() == '(') SMOE_DO(take_name(named));
    Directive spec;
    take_flags(spec);
    SMOE_DO(take_number(spec.width, spec));
    if (peek() == '.') {
      ++at_;
      spec.precision = 0;
      SMOE_DO(take_number(spec.precision, spec));
    }
    while (peek() == 'l' || peek() == 'h' || peek() == 'L') ++at_;
    if (at_ >= format_.size()) return type_error("incomplete format");
    spec.conversion = format_.bytes()[at_++];
    if (spec.conversion == '%') {
      result_.append("%", origin);
      return {};
    }
    if (!named) {
      SMOE_TRY(Value next, next_argument());
      named = std::move(next);
    }
    return convert(spec, *named);
  }

  Status take_name(std::optional<Value>& named) {
    const size_t close = format_.bytes().find(')', at_);
    if (close == std::string_view::npos) return type_error("incomplete format key");
    if (!arguments_.is_dict()) return type_error("format requires a mapping");
    const Value* value = arguments_.dict().find(format_.bytes().substr(at_ + 1, close - at_ - 1));
    if (value == nullptr) return type_error("the mapping of a format lacks a key");
    at_ = close + 1;
    named = *value;
    return {};
  }

  void take_flags(Directive& spec) {
    for (;; ++at_) {
      const char c = peek();
      if (c == '-') {
        spec.left = true;
      } else if (c == '0') {
        spec.zero = true;
      } else if (c == '+') {
        spec.plus = true;
      } else if (c == ' ') {
        spec.space = true;
      } else if (c == '#') {
        spec.alternate = true;
      } else {
        return;
      }
    }
  }

  Status take_number(int64_t& number, Directive& spec) {
    if (peek() == '*') {
      ++at_;
      SMOE_TRY(const Value value, next_argument());
      if (!value.small_int()) return type_error("* wants int");
      number = *value.small_int();
      if (&number == &spec.width && number < 0) {
        spec.left = true;
        number = number < -kMaxWidth ? kMaxWidth + 1 : -number;
      }
    }
    while (is_ascii_digit(peek()) && number <= kMaxWidth)
      number = number * 10 + (format_.bytes()[at_++] - '0');
    if (number > kMaxWidth) return type_error("a width or precision in a format is too big");
    return {};
  }

  Result<Value> next_argument() {
    if (tuple_ == nullptr) {
      if (used_++ == 0) return arguments_;
    } else if (used_ < tuple_->items.size()) {
      return tuple_->items[used_++];
    }
    return type_error("not enough arguments for format string");
  }

  Status convert(const Directive& spec, const Value& value) {
    switch (spec.conversion) {
      case 's':
      case 'r':
      case 'a': {
        SMOE_TRY(MarkedText text,
                 spec.conversion == 's' ? to_text(run_, value) : to_repr(run_, value));
        if (spec.precision >= 0)
          text =
              text.slice(0, offset_of_character(text.bytes(), static_cast<size_t>(spec.precision)));
        return pad(spec, text, 0);
      }
      case 'c':
        return convert_character(spec, value);
      case 'd':
      case 'i':
      case 'u':
        return convert_decimal(spec, value);
      case 'x':
      case 'X':
      case 'o':
        return convert_based(spec, value);
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G':
        return convert_float(spec, value);
      default:
        return type_error(std::string("unsupported format character '") + spec.conversion + "'");
    }
  }

  Status convert_character(const Directive& spec, const Value& value) {
    if (value.is_string() && count_characters(value.bytes()) == 1)
      return pad(spec, value.text(), 0);
    const auto number = value.small_int();
    if (!number || *number < 0 || *number > 0x10ffff || (*number >= 0xd800 && *number < 0xe000))
      return type_error("%c requires an int or a character");
    std::string character;
    append_utf8(character, static_cast<char32_t>(*number));
    return pad(spec, MarkedText(character, Origin::kVariable), 0);
  }

  Status number_needed(const Directive& spec, const Value& value) const {
    if (value.is_undefined()) return undefined_error(value);
    return type_error(std::string("%") + spec.conversion + " format: a number is required, not " +
                      std::string(value.type_name()));
  }

  Status convert_decimal(const Directive& spec, const Value& value) {
    if (!value.is_number()) return number_needed(spec, value);
    Value whole = value;
    if (value.is_float()) {
      SMOE_TRY(whole, truncate(value.floating()));
    } else if (value.is_bool()) {
      whole = Value(value.small_int().value_or(0));
    }
    std::string digits = number_text(whole);
    const bool negative = digits.starts_with('-');
    if (negative) digits.erase(0, 1);
    return add_number(spec, negative, "", std::move(digits));
  }

  Status convert_based(const Directive& spec, const Value& value) {
    const auto number = value.small_int();
    if (value.kind() == Value::Kind::kBigInt) return beyond_64_bits();
    if (!number) return number_needed(spec, value);
    const auto magnitude =
        *number < 0 ? uint64_t{0} - static_cast<uint64_t>(*number) : static_cast<uint64_t>(*number);
    const char c = spec.conversion;
    std::string digits = c == 'x'   ? fmt::format("{:x}", magnitude)
                         : c == 'X' ? fmt::format("{:X}", magnitude)
                                    : fmt::format("{:o}", magnitude);
    const std::string prefix = spec.alternate ? std::string("0") + c : "";
    return add_number(spec, *number < 0, prefix, std::move(digits));
  }

  // Digits with precision, sign and padding.
  Status add_number(const Directive& spec, bool negative, const std::string& prefix,
                    std::string digits) {
    const auto wanted = static_cast<size_t>(std::max<int64_t>(spec.precision, 0));
    if (digits.size() < wanted) digits.insert(0, wanted - digits.size(), '0');
    const std::string sign = negative ? "-" : spec.plus ? "+" : spec.space ? " " : "";
    const std::string head = sign + prefix;
    return pad(spec, MarkedText(head + digits, Origin::kTemplate), head.size());
  }

  Status convert_float(const Directive& spec, const Value& value) {
    if (!value.is_number()) return number_needed(spec, value);
    const double number = to_double(value);
    if (spec.precision > 300) return type_error("a precision in a format is too big");
    const int precision = spec.precision < 0 ? 6 : static_cast<int>(spec.precision);
    std::string pattern = spec.alternate ? "%#.*" : "%.*";
    pattern += spec.conversion;
    std::array<char, 700> buffer{};
    const int size =
        std::snprintf(buffer.data(), buffer.size(), pattern.c_str(), precision, std::fabs(number));
    const bool negative = std::signbit(number) && !std::isnan(number);
    return add_number({.left = spec.left,
                       .zero = spec.zero,
                       .plus = spec.plus,
                       .space = spec.space,
                       .alternate = false,
                       .width = spec.width,
                       .precision = -1,
                       .conversion = spec.conversion},
                      negative, "", std::string(buffer.data(), static_cast<size_t>(size)));
  }

  // Zeros go behind the sign, spaces before it.
  Status pad(const Directive& spec, const MarkedText& text, size_t sign_bytes) {
    const auto size = static_cast<int64_t>(count_characters(text.bytes()));
    const auto missing = static_cast<size_t>(std::max<int64_t>(spec.width - size, 0));
    const bool is_number = std::string_view("srac").find(spec.conversion) == std::string::npos;
    const bool zeros = spec.zero && !spec.left && is_number;
    if (!spec.left && !zeros) result_.append(std::string(missing, ' '), Origin::kTemplate);
    result_.append(text, 0, sign_bytes);
    if (zeros) result_.append(std::string(missing, '0'), Origin::kTemplate);
    result_.append(text, sign_bytes, text.size());
    if (spec.left) result_.append(std::string(missing, ' '), Origin::kTemplate);
    return run_.spend_bytes(result_.size() / 16);
  }

  Run& run_;
  const MarkedText& format_;
  const Value& arguments_;
  const Sequence* tuple_ = nullptr;
  size_t used_ = 0;
  size_t at_ = 0;
  MarkedText result_;
};

}  // namespace

Result<MarkedText> percent_format(Run& run, const MarkedText& format, const Value& arguments) {
  return PercentFormatter(run, format, arguments).format();
}

}  // namespace smoe::jinja
