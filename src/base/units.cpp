#include "base/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
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

namespace {

// The power of 1024 that "", "b", "k", "kb", "kib" … stand for.
std::optional<unsigned> power_of(std::string_view suffix) {
  if (suffix.empty() || suffix == "b") return 0;
  constexpr std::string_view kLetters = "kmgt";
  const size_t letter = kLetters.find(suffix.front());
  const std::string_view rest = suffix.substr(1);
  if (letter == std::string_view::npos || (!rest.empty() && rest != "b" && rest != "ib"))
    return std::nullopt;
  return static_cast<unsigned>(letter) + 1;
}

}  // namespace

std::optional<uint64_t> parse_bytes(const std::string& text) {
  const size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::string_view number = std::string_view(text).substr(0, end);
  std::string suffix;
  for (const char c : std::string_view(text).substr(end))
    if (c != ' ' || !suffix.empty())
      suffix += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const auto power = power_of(suffix);
  if (!power || number.empty()) return std::nullopt;
  const uint64_t unit = uint64_t{1} << (10 * *power);

  const char* const last = number.data() + number.size();
  uint64_t whole = 0;  // exact, where a double would round
  if (const auto [rest, error] = std::from_chars(number.data(), last, whole); rest == last)
    return error == std::errc{} ? checked_mul(whole, unit) : std::nullopt;
  double value = 0;
  const auto [rest, error] = std::from_chars(number.data(), last, value);
  if (error != std::errc{} || rest != last) return std::nullopt;
  value *= static_cast<double>(unit);
  if (value >= 0x1p64) return std::nullopt;
  return static_cast<uint64_t>(value);
}

}  // namespace smoe
