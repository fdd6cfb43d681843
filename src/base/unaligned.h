// Numbers at any address, as file formats have them. Little-endian, like every machine that runs
// this.
#pragma once

#include <bit>
#include <cstddef>
#include <cstring>
#include <type_traits>

namespace smoe {

static_assert(std::endian::native == std::endian::little);

template <class T>
T load(const std::byte* from) {
  static_assert(std::is_trivially_copyable_v<T>);
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class T>
void store(std::byte* to, T value) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::memcpy(to, &value, sizeof value);
}

}  // namespace smoe
