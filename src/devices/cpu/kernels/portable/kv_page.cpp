#include <cstring>

#include "base/floats.h"
#include "devices/cpu/kernels/portable/portable.h"

namespace smoe::cpu::portable {
namespace {

float half_at(const std::byte* from, size_t index) {
  uint16_t half = 0;
  std::memcpy(&half, from + index * sizeof half, sizeof half);
  return f16_to_float(half);
}

float code_at(const std::byte* from, size_t index) {
  return static_cast<float>(static_cast<int8_t>(from[index]));
}

uint32_t blocks_of(uint32_t head_dim) { return (head_dim + kQuantBlock - 1) / kQuantBlock; }

}  // namespace

void widen_f16(const std::byte* in, size_t count, float* out) {
  for (size_t i = 0; i < count; ++i) out[i] = half_at(in, i);
}

void widen_keys(const std::byte* in, uint32_t head_dim, float* out) {
  const std::byte* scales = in + size_t{kStepPositions} * head_dim;
  for (uint32_t tile = 0; tile < kStepPositions / kTileRows; ++tile) {
    for (uint32_t d = 0; d < head_dim; ++d) {
      const size_t first = (size_t{tile} * head_dim + d) * kTileRows;
      const size_t scale = (size_t{tile} * blocks_of(head_dim) + d / kQuantBlock) * kTileRows;
      for (uint32_t lane = 0; lane < kTileRows; ++lane)
        out[first + lane] = code_at(in, first + lane) * half_at(scales, scale + lane);
    }
  }
}

void widen_values(const std::byte* in, uint32_t head_dim, float* out) {
  const std::byte* scales = in + size_t{kStepPositions} * head_dim;
  for (uint32_t position = 0; position < kStepPositions; ++position) {
    for (uint32_t d = 0; d < head_dim; ++d) {
      const size_t at = size_t{position} * head_dim + d;
      const size_t scale = size_t{position} * blocks_of(head_dim) + d / kQuantBlock;
      out[at] = code_at(in, at) * half_at(scales, scale);
    }
  }
}

}  // namespace smoe::cpu::portable
