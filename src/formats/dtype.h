// Element types as safetensors files name them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace smoe {

enum class DType : uint8_t {
  kBool,
  kU8,
  kI8,
  kF8E4M3,
  kF8E5M2,
  kF8E8M0,
  kI16,
  kU16,
  kF16,
  kBF16,
  kI32,
  kU32,
  kF32,
  kF64,
  kI64,
  kU64
};

std::string_view name_of(DType dtype);                    // "BF16"
std::optional<DType> dtype_named(std::string_view name);  // nothing for a name not listed above
size_t bytes_of(DType dtype);                             // of one element

}  // namespace smoe
