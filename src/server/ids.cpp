#include "server/ids.h"

#include <sys/random.h>

#include <array>
#include <cstdint>

#include "base/check.h"

namespace smoe::server {
namespace {

constexpr std::string_view kIdLetters =
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
constexpr size_t kIdLength = 24;

}  // namespace

std::string random_id(std::string_view prefix) {
  std::array<uint8_t, kIdLength> bytes{};
  // Requests of at most 256 bytes are never cut short.
  SMOE_CHECK(::getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  std::string id(prefix);
  for (const uint8_t byte : bytes) id += kIdLetters[byte % (kIdLetters.size())];
  return id;
}

}  // namespace smoe::server
