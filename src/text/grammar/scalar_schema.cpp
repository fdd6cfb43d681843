#include "text/grammar/scalar_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "text/grammar/grammar.h"
#include "text/grammar/json_numbers.h"
#include "text/grammar/pattern.h"

namespace smoe {
namespace {

constexpr std::string_view kDatePattern =
    "\\d{4}-(((0[13578]|1[02])-(0[1-9]|[12]\\d|3[01]))|((0[469]|11)-(0[1-9]|[12]\\d|30))|"
    "(02-(0[1-9]|1\\d|2[0-8])))";
constexpr std::string_view kTimePattern =
    "([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(\\.\\d{1,6})?(Z|[+-]([01]\\d|2[0-3]):[0-5]\\d)";

// A format as the pattern of what is written for it, which is less than all that is valid.
struct StringFormat {
  std::string_view name;
  std::string_view pattern;
  std::string_view behind_t = {};  // after a T
};
constexpr std::array<StringFormat, 7> kStringFormats{
    {{"date", kDatePattern},
     {"time", kTimePattern},
     {"date-time", kDatePattern, kTimePattern},
     {"uuid", "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"},
     {"email",
      "[A-Za-z0-9_+-]{1,32}(\\.[A-Za-z0-9_+-]{1,32}){0,3}@"
      "[A-Za-z0-9]{1,32}(\\.[A-Za-z0-9]{2,32}){1,3}"},
     {"ipv4", "((25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)\\.){3}(25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)"},
     {"uri",
      "https?://[A-Za-z0-9]{1,32}(\\.[A-Za-z0-9]{1,32}){0,5}(:[1-9]\\d{0,3})?"
      "(/[A-Za-z0-9._~-]*)*(\\?[A-Za-z0-9._~=&-]*)?(#[A-Za-z0-9._~-]*)?"}}};

// Names that say how a number is stored.
constexpr std::array<std::string_view, 4> kNumberFormats{"int32", "int64", "float", "double"};

Error bad_scalar(std::string_view where, std::string_view what) {
  return {Code::kUsage, fmt::format("the schema at {} {}", where, what)};
}

Result<std::string> pattern_of(const Json& format, std::string_view where) {
  for (const StringFormat& known : kStringFormats)
    if (format.as_string() == known.name)
      return fmt::format("^({}{}{})$", known.pattern, known.behind_t.empty() ? "" : "T",
                         known.behind_t);
  return bad_scalar(where, fmt::format("has the format '{}', which is not supported",
                                       format.as_string().value_or("")));
}

struct Lengths {
  uint32_t least = 0;
  uint32_t most = kNoBound;
};

Result<Lengths> lengths_of(const Conjunction& schemas) {
  Lengths lengths;
  const auto read = [&](std::string_view keyword, auto set) -> Status {
    for (const auto& [value, where] : SchemaDocument::all(schemas, keyword)) {
      const auto number = value->as_uint();
      if (!number || *number > kMaxRepeats)
        return bad_scalar(where,
                          fmt::format("has a {} that is no number up to {}", keyword, kMaxRepeats));
      set(static_cast<uint32_t>(*number));
    }
    return {};
  };
  SMOE_DO(
      read("minLength", [&](uint32_t count) { lengths.least = std::max(lengths.least, count); }));
  SMOE_DO(read("maxLength", [&](uint32_t count) { lengths.most = std::min(lengths.most, count); }));
  if (lengths.most < lengths.least)
    return bad_scalar(schemas.front().where, "wants a longer string than it allows");
  return lengths;
}

struct Bound {
  int64_t value;
  bool open;  // the value itself is out
};

// Of a whole number a bound between two is the nearer one.
Result<Bound> bound_of(const Json& value, const std::string& where, std::string_view keyword,
                       bool whole) {
  const bool is_least = keyword == "minimum" || keyword == "exclusiveMinimum";
  bool open = keyword.starts_with("exclusive");
  auto number = value.is_number() ? value.as_double() : std::nullopt;
  if (number && whole && std::floor(*number) != *number) {
    number = is_least ? std::ceil(*number) : std::floor(*number);
    open = false;
  }
  if (!number || !(std::abs(*number) <= static_cast<double>(kMaxNumberBound)))
    return bad_scalar(where, fmt::format("has a {} that is no number within 1e18", keyword));
  if (std::floor(*number) != *number)
    return bad_scalar(where,
                      fmt::format("has a {} that is not whole, which is not supported", keyword));
  return Bound{value.as_int().value_or(static_cast<int64_t>(*number)), open};
}

}  // namespace

Result<Expression> string_schema(JsonRules& json, const Conjunction& schemas) {
  auto patterns = SchemaDocument::all(schemas, "pattern");
  const auto formats = SchemaDocument::all(schemas, "format");
  SMOE_TRY(const Lengths lengths, lengths_of(schemas));
  const bool counted = lengths.least > 0 || lengths.most != kNoBound;
  if (patterns.size() + formats.size() + (counted ? 1 : 0) > 1)
    return bad_scalar(schemas.front().where,
                      "combines pattern, format or lengths of a string, which is not supported");
  if (!formats.empty()) {
    SMOE_TRY(const std::string pattern, pattern_of(*formats[0].first, formats[0].second));
    return string_matching(pattern);
  }
  if (!patterns.empty()) {
    auto matching = string_matching(patterns[0].first->as_string().value_or(""));
    if (!matching) return bad_scalar(patterns[0].second, "has a " + matching.error().message);
    return matching;
  }
  if (!counted) return json.string();
  return all_of(list_of(
      text_of("\""), repeated(JsonRules::character(), lengths.least, lengths.most), text_of("\"")));
}

Result<Expression> number_schema(JsonRules& json, const Conjunction& schemas, bool whole) {
  for (const auto& [format, where] : SchemaDocument::all(schemas, "format"))
    if (std::none_of(
            kNumberFormats.begin(), kNumberFormats.end(),
            [&, value = format](std::string_view name) { return value->as_string() == name; }))
      return bad_scalar(where, "has a format of a number that is not supported");
  NumberBounds bounds;
  for (const std::string_view keyword : {"minimum", "exclusiveMinimum"}) {
    for (const auto& [value, where] : SchemaDocument::all(schemas, keyword)) {
      SMOE_TRY(const Bound bound, bound_of(*value, where, keyword, whole));
      if (bounds.least && *bounds.least > bound.value) continue;
      bounds.above_least = bound.open || (bounds.least == bound.value && bounds.above_least);
      bounds.least = bound.value;
    }
  }
  for (const std::string_view keyword : {"maximum", "exclusiveMaximum"}) {
    for (const auto& [value, where] : SchemaDocument::all(schemas, keyword)) {
      SMOE_TRY(const Bound bound, bound_of(*value, where, keyword, whole));
      if (bounds.most && *bounds.most < bound.value) continue;
      bounds.below_most = bound.open || (bounds.most == bound.value && bounds.below_most);
      bounds.most = bound.value;
    }
  }
  if (!bounds.least && !bounds.most) return whole ? json.integer() : json.number();
  auto number = whole ? integers(bounds) : numbers(bounds);
  if (number) return *std::move(number);
  return bad_scalar(schemas.front().where, "has bounds between which there is no number");
}

}  // namespace smoe
