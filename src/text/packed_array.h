// The values of an array as they lie in a file, at any address.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

namespace smoe {

template <class T>
class PackedArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  PackedArray() = default;
  // Whole values only; bytes behind the last one are not looked at.
  explicit PackedArray(std::string_view bytes) : bytes_(bytes) {}
  explicit PackedArray(std::span<const T> values)
      : bytes_(reinterpret_cast<const char*>(values.data()), values.size_bytes()) {}

  size_t size() const { return bytes_.size() / sizeof(T); }
  bool empty() const { return size() == 0; }
  T operator[](size_t index) const {
    T value;
    std::memcpy(&value, bytes_.data() + index * sizeof(T), sizeof(T));
    return value;
  }
  std::string_view bytes() const { return bytes_; }

 private:
  std::string_view bytes_;
};

}  // namespace smoe
