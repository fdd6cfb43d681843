#include "base/units.h"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <string_view>

namespace smoe {

std::string format_bytes(uint64_t bytes) {
  constexpr std::array kNames = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < kKiB) return fmt::format("{} B", bytes);
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  // 1023.995 and above would print as 1024.00 of the smaller unit.
  while (value >= 1023.995 && unit + 1 < kNames.size()) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.2f} {}", value, kNames[unit]);
}

std::optional<uint64_t> parse_bytes(const std::string& text) {
  size_t end = 0;
  while (end < text.size() &&
         (std::isdigit(static_cast<unsigned char>(text[end])) || text[end] == '.'))
    ++end;
  double value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + end, value);
  if (end == 0 || error != std::errc{} || rest != text.data() + end) return std::nullopt;

  std::string suffix;
  for (const char c : std::string_view(text).substr(end))
    if (c != ' ') suffix += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (suffix.ends_with("ib")) suffix.resize(suffix.size() - 2);
  if (suffix.size() > 1 && suffix.ends_with('b')) suffix.pop_back();
  constexpr std::string_view kSuffixes = "bkmgt";
  if (suffix.size() > 1) return std::nullopt;
  const size_t power = suffix.empty() ? 0 : kSuffixes.find(suffix[0]);
  if (power == std::string_view::npos) return std::nullopt;
  value *= std::pow(1024.0, static_cast<double>(power));
  if (!(value >= 0) || value >= 18e18) return std::nullopt;
  return static_cast<uint64_t>(value);
}

}  // namespace smoe
