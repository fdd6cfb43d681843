// Vectors of which some lanes count.
#pragma once

#include <arm_neon.h>

#include <cstdint>

#include "devices/cpu/kernels/unrolled.h"

namespace smoe::cpu::neon {
namespace {

// Nothing beyond the first `lanes` is touched; what is not loaded is zero.
[[gnu::always_inline]] inline float32x4_t load_lanes(const float* from, uint32_t lanes) {
  if (lanes >= 4) return vld1q_f32(from);
  float some[4] = {};
  for (uint32_t i = 0; i < lanes; ++i) some[i] = from[i];
  return vld1q_f32(some);
}

[[gnu::always_inline]] inline void store_lanes(float* to, uint32_t lanes, float32x4_t value) {
  if (lanes >= 4) return vst1q_f32(to, value);
  float some[4];
  vst1q_f32(some, value);
  for (uint32_t i = 0; i < lanes; ++i) to[i] = some[i];
}

// Halves four numbers twice: lanes 0 and 2, 1 and 3, then these.
[[gnu::always_inline]] inline float sum_of(float32x4_t values) {
  const float32x2_t two = vadd_f32(vget_low_f32(values), vget_high_f32(values));
  return vget_lane_f32(two, 0) + vget_lane_f32(two, 1);
}

}  // namespace
}  // namespace smoe::cpu::neon
