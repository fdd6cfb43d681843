#include "base/checksum.h"

#define XXH_STATIC_LINKING_ONLY  // the streaming state by value
#include <fmt/format.h>
#include <xxhash.h>

#include <charconv>

namespace smoe {

struct Checksum::State {
  XXH3_state_t xxh;
};

uint64_t xxh3_64(std::span<const std::byte> data) { return XXH3_64bits(data.data(), data.size()); }

uint64_t xxh3_64(std::string_view text) { return XXH3_64bits(text.data(), text.size()); }

std::string checksum_text(uint64_t checksum) { return fmt::format("{:016x}", checksum); }

std::optional<uint64_t> parse_checksum(std::string_view text) {
  uint64_t value = 0;
  if (text.size() != 16) return std::nullopt;
  const auto [end, error] = std::from_chars(text.begin(), text.end(), value, 16);
  if (error != std::errc{} || end != text.end()) return std::nullopt;
  // One spelling only: an upper-case digit is a flipped bit.
  if (checksum_text(value) != text) return std::nullopt;
  return value;
}

Checksum::Checksum() : state_(std::make_unique<State>()) { XXH3_64bits_reset(&state_->xxh); }

Checksum::~Checksum() = default;

void Checksum::add(std::span<const std::byte> data) {
  XXH3_64bits_update(&state_->xxh, data.data(), data.size());
}

void Checksum::add(std::string_view text) {
  XXH3_64bits_update(&state_->xxh, text.data(), text.size());
}

uint64_t Checksum::value() const { return XXH3_64bits_digest(&state_->xxh); }

}  // namespace smoe
