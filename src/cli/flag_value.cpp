#include "cli/flag_value.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>

#include "base/json.h"
#include "base/units.h"

namespace smoe::cli {
namespace {

template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (text.empty() || error != std::errc{} || rest != end) return std::nullopt;
  return number;
}

// One reading of one value; each function returns the error or sets the member.
struct Reading {
  std::string_view value;
  std::string_view where;
  Settings& settings;

  Error wrong(std::string_view wanted) const {
    return {Code::kUsage, fmt::format("{}: {} is not {}", where, json_quote(value), wanted)};
  }

  Result<uint64_t> count(uint64_t least, uint64_t most) const {
    const auto number = parse_number<uint64_t>(value);
    if (number && *number >= least && *number <= most) return *number;
    if (most == std::numeric_limits<uint64_t>::max())
      return wrong(fmt::format("a whole number of {} or more", least));
    return wrong(fmt::format("a whole number from {} to {}", least, most));
  }

  Status set(const SwitchField& field) const { return set_bool(settings.*field.member); }
  Status set(const ToggleField& field) const { return set_bool(settings.*field.member); }
  Status set(const OptionalSwitchField& field) const {
    bool on = false;
    SMOE_DO(set_bool(on));
    settings.*field.member = on;
    return {};
  }

  Status set_bool(bool& on) const {
    const auto parsed = parse_bool(value);
    if (!parsed) return wrong("on or off (1, true, enabled; 0, false, disabled)");
    on = *parsed;
    return {};
  }

  Status set(const CountField& field) const {
    SMOE_TRY(settings.*field.member, count(field.least, field.most));
    return {};
  }
  Status set(const DefaultedCountField& field) const {
    SMOE_TRY(settings.*field.member, count(field.least, field.most));
    return {};
  }

  Status set(const RealField& field) const {
    const auto number = parse_number<double>(value);
    if (!number || !std::isfinite(*number) || *number < field.least || *number > field.most)
      return wrong(fmt::format("a number from {} to {}", field.least, field.most));
    settings.*field.member = *number;
    return {};
  }

  Status set(const BytesField& field) const {
    const auto bytes = parse_bytes(std::string(value));
    if (!bytes || *bytes == 0)
      return wrong("a size such as 8G or 900M (K, M, G, T are powers of 1024)");
    settings.*field.member = *bytes;
    return {};
  }

  Status set(const TextField& field) const {
    if (value.empty()) return wrong("a name");
    settings.*field.member = std::string(value);
    return {};
  }

  Status set(const ListField& field) const {
    if (value.empty()) return wrong("a text of at least one character");
    if (!is_utf8(value)) return wrong("a UTF-8 text");
    (settings.*field.member).emplace_back(value);
    return {};
  }

  Status set(const TokensField& field) const {
    constexpr uint64_t kMost = std::numeric_limits<uint32_t>::max();
    std::string_view rest = value;
    while (true) {
      const size_t comma = rest.find(',');
      std::string_view piece = rest.substr(0, comma);
      while (piece.starts_with(' ')) piece.remove_prefix(1);
      while (piece.ends_with(' ')) piece.remove_suffix(1);
      const auto id = parse_number<uint64_t>(piece);
      if (!id || *id > kMost)
        return wrong(
            fmt::format("a list of token ids, whole numbers from 0 to {} between commas", kMost));
      (settings.*field.member).push_back(static_cast<TokenId>(*id));
      if (comma == std::string_view::npos) return {};
      rest.remove_prefix(comma + 1);
    }
  }

  Status set(const ChoiceField& field) const {
    const auto word = std::find(field.words.begin(), field.words.end(), value);
    if (word == field.words.end())
      return wrong(fmt::format("one of {}", fmt::join(field.words, ", ")));
    field.choose(settings, static_cast<size_t>(word - field.words.begin()));
    return {};
  }
};

// Writes a setting down.
struct Writing {
  const Settings& settings;

  template <class Value>
  static std::string text_of(const std::optional<Value>& value) {
    return value ? fmt::format("{}", *value) : "-";
  }
  std::string get(const SwitchField& field) const { return settings.*field.member ? "on" : "off"; }
  std::string get(const ToggleField& field) const { return settings.*field.member ? "on" : "off"; }
  std::string get(const DefaultedCountField& field) const {
    return std::to_string(settings.*field.member);
  }
  std::string get(const ListField& field) const {
    const auto& list = settings.*field.member;
    return list.empty() ? "-" : fmt::format("{}", fmt::join(list, ","));
  }
  std::string get(const TokensField&) const { return "-"; }  // no flag that can be set in between
  std::string get(const ChoiceField&) const { return "-"; }
  template <class Field>
  std::string get(const Field& field) const {
    return text_of(settings.*field.member);
  }
};

}  // namespace

bool takes_value(const Flag& flag) {
  return !std::holds_alternative<SwitchField>(flag.field) &&
         !std::holds_alternative<OptionalSwitchField>(flag.field);
}

bool has_negation(const Flag& flag) {
  return !takes_value(flag) || std::holds_alternative<ToggleField>(flag.field);
}

bool is_list(const Flag& flag) { return std::holds_alternative<ListField>(flag.field); }

Status apply(const Flag& flag, std::string_view value, std::string_view where, Settings& settings) {
  const Reading reading{value, where, settings};
  return std::visit([&](const auto& field) { return reading.set(field); }, flag.field);
}

std::string value_text(const Flag& flag, const Settings& settings) {
  const Writing writing{settings};
  return std::visit([&](const auto& field) { return writing.get(field); }, flag.field);
}

std::optional<bool> parse_bool(std::string_view text) {
  constexpr std::array<std::string_view, 5> kOn{"1", "true", "on", "enabled", "yes"};
  constexpr std::array<std::string_view, 5> kOff{"0", "false", "off", "disabled", "no"};
  std::string lower;
  for (const char c : text) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (std::find(kOn.begin(), kOn.end(), lower) != kOn.end()) return true;
  if (std::find(kOff.begin(), kOff.end(), lower) != kOff.end()) return false;
  return std::nullopt;
}

}  // namespace smoe::cli
