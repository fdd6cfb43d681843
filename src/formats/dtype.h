// Types of weights: elements as safetensors files name them, blocks as GGUF files do.
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
  kU64,
  // Blocks of 32 or 256 weights of a row, in ggml's layouts (formats/dequantize.h).
  // NOLINTBEGIN(readability-identifier-naming): ggml's names
  kQ4_0,
  kQ4_1,
  kQ5_0,
  kQ5_1,
  kQ8_0,
  kQ2_K,
  kQ3_K,
  kQ4_K,
  kQ5_K,
  kQ6_K,
  kIQ4_NL,
  kIQ4_XS,
  kMXFP4
  // NOLINTEND(readability-identifier-naming)
};
inline constexpr size_t kDTypes = 29;

std::string_view name_of(DType dtype);  // "BF16", "Q4_K"
// An element type; nothing for other names, blocks included: no safetensors file has them.
std::optional<DType> dtype_named(std::string_view name);
size_t bytes_of(DType dtype);  // of one element; an element type is a promise

// The smallest piece of a row that can be decoded: one element, or a block.
struct Block {
  uint32_t weights;
  uint32_t bytes;
};
Block block_of(DType dtype);
bool is_block(DType dtype);
// Of a row of `cols` weights; nothing when they do not fill its blocks, or wrap.
std::optional<uint64_t> row_bytes(DType dtype, uint64_t cols);

}  // namespace smoe
