// Activations to int8, in blocks of 32 that share a scale.
#include <cstring>

#include "devices/cpu/kernels/neon/lanes.h"
#include "devices/cpu/kernels/neon/neon.h"
#include "devices/cpu/kernels/neon/quantized.h"

namespace smoe::cpu::neon {
namespace {

constexpr float kSmallest = 1e-30F;  // below it 127 / maximum would overflow

// The bits of the largest |x|: as whole numbers NaN and infinity are the largest.
uint32_t largest_bits(const float* in) {
  uint32x4_t largest = vdupq_n_u32(0);
  unrolled<8>([&](auto i) {
    const uint32x4_t bits = vreinterpretq_u32_f32(vld1q_f32(in + i * 4));
    largest = vmaxq_u32(largest, vandq_u32(bits, vdupq_n_u32(0x7fffffff)));
  });
  return vmaxvq_u32(largest);
}

// 16 activations as bytes, rounded half to even.
int8x16_t round_16(const float* in, float inverse) {
  int16x4_t four[4];
  unrolled<4>([&](auto i) {
    four[i] = vmovn_s32(vcvtnq_s32_f32(vmulq_n_f32(vld1q_f32(in + i * 4), inverse)));
  });
  return vcombine_s8(vmovn_s16(vcombine_s16(four[0], four[1])),
                     vmovn_s16(vcombine_s16(four[2], four[3])));
}

void quantize_block(const float* in, std::byte* out) {
  const uint32_t bits = largest_bits(in);
  float maximum = 0;
  std::memcpy(&maximum, &bits, sizeof maximum);

  float scale = 0;
  int8x16_t values[2] = {vdupq_n_s8(0), vdupq_n_s8(0)};
  if (bits >= 0x7f800000) {
    scale = __builtin_nanf("");
  } else if (maximum >= kSmallest) {
    scale = maximum / 127.0F;
    const float inverse = 127.0F / maximum;
    values[0] = round_16(in, inverse);
    values[1] = round_16(in + 16, inverse);
  }
  const int32_t halves[2] = {vaddlvq_s8(values[0]), vaddlvq_s8(values[1])};
  const int32_t sums[3] = {halves[0], halves[1], halves[0] + halves[1]};
  std::memcpy(out + kScaleOffset, &scale, sizeof scale);
  std::memcpy(out + kSumsOffset, sums, sizeof sums);
  std::memcpy(out + kValuesOffset, values, sizeof values);
}

}  // namespace

void quantize(const float* in, uint32_t cols, std::byte* out) {
  for (uint32_t k = 0; k < cols; k += kQuantBlock, out += kQuantizedBlockBytes)
    quantize_block(in + k, out);
}

}  // namespace smoe::cpu::neon
