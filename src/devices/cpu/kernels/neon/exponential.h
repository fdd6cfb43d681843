// Four times portable::exponential.
#pragma once

#include <arm_neon.h>

#include "devices/cpu/kernels/exponential.h"

namespace smoe::cpu::neon {
namespace {

[[gnu::always_inline]] inline float32x4_t exponential(float32x4_t x) {
  const float32x4_t round = vdupq_n_f32(kExpRound);
  const float32x4_t shifted = vfmaq_f32(round, x, vdupq_n_f32(kExpLog2E));
  const float32x4_t n = vsubq_f32(shifted, round);
  float32x4_t r = vfmaq_f32(x, n, vdupq_n_f32(-kExpLn2High));
  r = vfmaq_f32(r, n, vdupq_n_f32(-kExpLn2Low));
  const float32x4_t one = vdupq_n_f32(1.0F);
  float32x4_t sum = vfmaq_f32(vdupq_n_f32(kExpC5), vdupq_n_f32(kExpC6), r);
  sum = vfmaq_f32(vdupq_n_f32(kExpC4), sum, r);
  sum = vfmaq_f32(vdupq_n_f32(kExpC3), sum, r);
  sum = vfmaq_f32(vdupq_n_f32(kExpC2), sum, r);
  sum = vfmaq_f32(one, sum, r);
  sum = vfmaq_f32(one, sum, r);
  const int32x4_t whole = vsubq_s32(vreinterpretq_s32_f32(shifted), vreinterpretq_s32_f32(round));
  const int32x4_t power = vshlq_n_s32(vaddq_s32(whole, vdupq_n_s32(127)), 23);
  sum = vmulq_f32(sum, vreinterpretq_f32_s32(power));
  // Comparisons with NaN are false, so NaN stays.
  const uint32x4_t low = vcltq_f32(x, vdupq_n_f32(kExpLowest));
  const uint32x4_t high = vcgtq_f32(x, vdupq_n_f32(kExpHighest));
  sum = vreinterpretq_f32_u32(vbicq_u32(vreinterpretq_u32_f32(sum), low));
  return vbslq_f32(high, vdupq_n_f32(__builtin_inff()), sum);
}

}  // namespace
}  // namespace smoe::cpu::neon
