#include "devices/cpu/kernels/neon/exponential.h"
#include "devices/cpu/kernels/neon/lanes.h"
#include "devices/cpu/kernels/neon/neon.h"

namespace smoe::cpu::neon {
namespace {

// Element i belongs to partial sum i % 16; lanes beyond the row add zero, which changes no bit.
float sum_of_squares(const float* in, uint32_t width) {
  float32x4_t sums[4] = {vdupq_n_f32(0), vdupq_n_f32(0), vdupq_n_f32(0), vdupq_n_f32(0)};
  uint32_t i = 0;
  for (; i + 16 <= width; i += 16) {
    unrolled<4>([&](auto q) {
      const float32x4_t x = vld1q_f32(in + i + q * 4);
      sums[q] = vfmaq_f32(sums[q], x, x);
    });
  }
  for (int q = 0; i < width; i += 4, ++q) {
    const float32x4_t x = load_lanes(in + i, width - i);
    sums[q] = vfmaq_f32(sums[q], x, x);
  }
  return sum_of(vaddq_f32(vaddq_f32(sums[0], sums[2]), vaddq_f32(sums[1], sums[3])));
}

}  // namespace

void normalize(const NormRun& run) {
  const float mean = sum_of_squares(run.in, run.width) / static_cast<float>(run.width);
  const float root = vget_lane_f32(vsqrt_f32(vdup_n_f32(mean + run.epsilon)), 0);
  const float32x4_t inverse = vdupq_n_f32(1.0F / root);
  for (uint32_t i = 0; i < run.width; i += 4) {
    const uint32_t lanes = run.width - i;
    const float32x4_t scaled = vmulq_f32(load_lanes(run.in + i, lanes), inverse);
    store_lanes(run.out + i, lanes, vmulq_f32(scaled, load_lanes(run.weight + i, lanes)));
  }
}

void gate(float* gate, const float* up, uint32_t width) {
  const float32x4_t one = vdupq_n_f32(1.0F);
  for (uint32_t i = 0; i < width; i += 4) {
    const uint32_t lanes = width - i;
    const float32x4_t x = load_lanes(gate + i, lanes);
    const float32x4_t silu = vdivq_f32(x, vaddq_f32(one, exponential(vnegq_f32(x))));
    store_lanes(gate + i, lanes, vmulq_f32(silu, load_lanes(up + i, lanes)));
  }
}

void rotate(float* head, const float* angles, uint32_t dims) {
  const uint32_t half = dims / 2;
  for (uint32_t i = 0; i < half; i += 4) {
    const uint32_t lanes = half - i;
    const float32x4_t first = load_lanes(head + i, lanes);
    const float32x4_t second = load_lanes(head + half + i, lanes);
    const float32x4_t cosine = load_lanes(angles + i, lanes);
    const float32x4_t sine = load_lanes(angles + half + i, lanes);
    store_lanes(head + i, lanes, vfmsq_f32(vmulq_f32(first, cosine), second, sine));
    store_lanes(head + half + i, lanes, vfmaq_f32(vmulq_f32(second, cosine), first, sine));
  }
}

}  // namespace smoe::cpu::neon
