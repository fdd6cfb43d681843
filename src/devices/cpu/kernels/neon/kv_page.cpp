// Pages of the KV cache as f32.
#include <cstring>

#include "devices/cpu/kernels/neon/lanes.h"
#include "devices/cpu/kernels/neon/neon.h"

namespace smoe::cpu::neon {
namespace {

// Eight codes from `from` on, times their scales.
[[gnu::always_inline]] inline void widen_eight(const std::byte* from, float32x4_t low,
                                               float32x4_t high, float* out) {
  const int16x8_t codes = vmovl_s8(vld1_s8(reinterpret_cast<const int8_t*>(from)));
  vst1q_f32(out, vmulq_f32(vcvtq_f32_s32(vmovl_s16(vget_low_s16(codes))), low));
  vst1q_f32(out + 4, vmulq_f32(vcvtq_f32_s32(vmovl_s16(vget_high_s16(codes))), high));
}

[[gnu::always_inline]] inline float32x4_t halves_at(const std::byte* from) {
  return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(reinterpret_cast<const uint16_t*>(from))));
}

[[gnu::always_inline]] inline float32x4_t half_at(const std::byte* from) {
  uint16_t half = 0;
  std::memcpy(&half, from, sizeof half);
  return vcvt_f32_f16(vreinterpret_f16_u16(vdup_n_u16(half)));
}

}  // namespace

void widen_f16(const std::byte* in, size_t count, float* out) {
  for (size_t i = 0; i < count; i += 4) vst1q_f32(out + i, halves_at(in + i * 2));
}

void widen_keys(const std::byte* in, uint32_t head_dim, float* out) {
  const std::byte* scales = in + size_t{kStepPositions} * head_dim;
  for (uint32_t tile = 0; tile < kStepPositions / kTileRows; ++tile) {
    for (uint32_t begin = 0; begin < head_dim; begin += kQuantBlock, scales += kTileRows * 2) {
      float32x4_t scale[4];
      unrolled<4>([&](auto v) { scale[v] = halves_at(scales + v * 8); });
      const uint32_t left = head_dim - begin;
      const uint32_t count = left < kQuantBlock ? left : kQuantBlock;
      for (uint32_t d = 0; d < count; ++d, in += kTileRows, out += kTileRows) {
        widen_eight(in, scale[0], scale[1], out);
        widen_eight(in + 8, scale[2], scale[3], out + 8);
      }
    }
  }
}

// A row's last vectors reach into the next row, which is written after it.
void widen_values(const std::byte* in, uint32_t head_dim, float* out) {
  const std::byte* scales = in + size_t{kStepPositions} * head_dim;
  for (uint32_t position = 0; position < kStepPositions; ++position) {
    for (uint32_t d = 0; d < head_dim; d += 8) {
      const float32x4_t scale = half_at(scales + d / kQuantBlock * 2);
      widen_eight(in + d, scale, scale, out + d);
    }
    in += head_dim;
    out += head_dim;
    scales += (head_dim + kQuantBlock - 1) / kQuantBlock * 2;
  }
}

}  // namespace smoe::cpu::neon
