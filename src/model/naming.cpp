#include "model/naming.h"

#include <charconv>

namespace smoe {
namespace {

constexpr std::string_view kLayer = "{layer}";
constexpr std::string_view kExpert = "{expert}";

// Takes a decimal number without leading zeros off the front of `text`.
std::optional<uint32_t> take_number(std::string_view& text) {
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return std::nullopt;
  const auto digits = static_cast<size_t>(end - text.data());
  if (digits > 1 && text.front() == '0') return std::nullopt;
  text.remove_prefix(digits);
  return number;
}

std::optional<TensorPlace> match(const TensorRule& rule, std::string_view name) {
  TensorPlace place{.role = rule.role};
  std::string_view pattern = rule.pattern;
  while (!pattern.empty()) {
    if (pattern.starts_with(kLayer) || pattern.starts_with(kExpert)) {
      const std::optional<uint32_t> number = take_number(name);
      if (!number) return std::nullopt;
      const bool layer = pattern.starts_with(kLayer);
      (layer ? place.layer : place.expert) = *number;
      pattern.remove_prefix(layer ? kLayer.size() : kExpert.size());
      continue;
    }
    const size_t plain = std::min(pattern.find('{'), pattern.size());
    if (!name.starts_with(pattern.substr(0, plain))) return std::nullopt;
    name.remove_prefix(plain);
    pattern.remove_prefix(plain);
  }
  if (!name.empty()) return std::nullopt;
  return place;
}

}  // namespace

std::string_view pattern_of(const Family& family, Role role) {
  for (const auto rules : {family.tensors, family.common_tensors})
    for (const TensorRule& rule : rules)
      if (rule.role == role) return rule.pattern;
  return {};
}

std::string tensor_name(std::string_view pattern, uint32_t layer, uint32_t expert) {
  std::string name;
  while (!pattern.empty()) {
    if (pattern.starts_with(kLayer)) {
      name += std::to_string(layer);
      pattern.remove_prefix(kLayer.size());
    } else if (pattern.starts_with(kExpert)) {
      name += std::to_string(expert);
      pattern.remove_prefix(kExpert.size());
    } else {
      const size_t plain = std::min(pattern.find('{'), pattern.size());
      name += pattern.substr(0, plain);
      pattern.remove_prefix(plain);
    }
  }
  return name;
}

std::optional<TensorPlace> place_of(std::span<const TensorRule> rules, std::string_view name) {
  for (const TensorRule& rule : rules)
    if (const auto place = match(rule, name)) return place;
  return std::nullopt;
}

std::optional<TensorPlace> place_of(const Family& family, std::string_view name) {
  const auto place = place_of(family.tensors, name);
  return place ? place : place_of(family.common_tensors, name);
}

}  // namespace smoe
