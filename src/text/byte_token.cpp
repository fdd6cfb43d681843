#include "text/byte_token.h"

#include <fmt/format.h>

#include <charconv>

namespace smoe {

std::optional<uint8_t> byte_of_token(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token.back() != '>') return std::nullopt;
  const std::string_view digits =
      token.substr(token[3] == '+' ? 4 : 3).substr(0, token[3] == '+' ? 1 : 2);
  unsigned value = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return static_cast<uint8_t>(value);
}

std::string byte_token(uint8_t byte) { return fmt::format("<0x{:02X}>", byte); }

}  // namespace smoe
