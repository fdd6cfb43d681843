// Weights of one block as whole numbers and what they are multiplied with.
#pragma once

#include <cstddef>
#include <cstdint>

#include "formats/block_format.h"

namespace smoe::cpu::portable {

inline constexpr uint32_t kMostBlockK = 256;
inline constexpr size_t kMostBlockBytes = 210;

// Weight k is steps[p] * codes[k] + bases[p], p = k / part_k. The products that make steps and
// bases are exact.
struct BlockCodes {
  uint32_t part_k;  // 16 or 32
  bool has_bases;
  int8_t codes[kMostBlockK];
  float steps[16];
  float bases[16];
};

// `block`: as a GGUF file has it. The format is one of blocks.
void decode_block(Format format, const std::byte* block, BlockCodes& out);

}  // namespace smoe::cpu::portable
