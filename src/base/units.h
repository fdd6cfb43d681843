// Sizes, alignment and arithmetic that cannot wrap.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace smoe {

inline constexpr uint64_t kKiB = 1024;
inline constexpr uint64_t kMiB = 1024 * kKiB;
inline constexpr uint64_t kGiB = 1024 * kMiB;

// Records, file data and buffers start on this boundary, so that one record is one direct read.
inline constexpr size_t kPageBytes = 16 * kKiB;

template <std::unsigned_integral T>
constexpr T align_up(T value, T alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

template <std::unsigned_integral T>
constexpr T ceil_div(T value, T divisor) {
  return value / divisor + (value % divisor != 0 ? 1 : 0);
}

// For numbers that come from a file or a request: nothing when the true result does not fit.
constexpr std::optional<uint64_t> checked_add(uint64_t a, uint64_t b) {
  uint64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

constexpr std::optional<uint64_t> checked_mul(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

// "1.50 GiB", "24 B": for people.
std::string format_bytes(uint64_t bytes);

// "8G", "512MiB", "1.5g", "123456": K, M, G, T are powers of 1024. Nothing when it is no size.
std::optional<uint64_t> parse_bytes(const std::string& text);

}  // namespace smoe
