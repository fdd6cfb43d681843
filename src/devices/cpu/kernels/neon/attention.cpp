#include "devices/cpu/kernels/neon/exponential.h"
#include "devices/cpu/kernels/neon/lanes.h"
#include "devices/cpu/kernels/neon/neon.h"

namespace smoe::cpu::neon {
namespace {

constexpr int kVectors = kStepPositions / 4;

// kRows queries, kColumns vectors of the values.
template <int kRows, int kColumns>
[[gnu::always_inline]] inline void add_columns(const ValueRun& run, uint32_t d, uint32_t lanes) {
  float32x4_t sums[kRows][kColumns];
  unrolled<kRows>([&](auto t) {
    unrolled<kColumns>([&](auto v) {
      const float* from = run.sums + static_cast<size_t>(t) * run.sums_stride + d + v * 4;
      sums[t][v] = vmulq_n_f32(vld1q_f32(from), run.rescale[t]);
    });
  });
  const float* values = run.values + d;
  for (uint32_t i = 0; i < run.positions; ++i, values += run.head_dim) {
    float32x4_t value[kColumns];
    unrolled<kColumns>([&](auto v) {
      value[v] = kColumns > 1 ? vld1q_f32(values + v * 4) : load_lanes(values, lanes);
    });
    unrolled<kRows>([&](auto t) {
      const float32x4_t weight =
          vld1q_dup_f32(run.weights + static_cast<size_t>(t) * kStepPositions + i);
      unrolled<kColumns>([&](auto v) { sums[t][v] = vfmaq_f32(sums[t][v], weight, value[v]); });
    });
  }
  unrolled<kRows>([&](auto t) {
    unrolled<kColumns>([&](auto v) {
      vst1q_f32(run.sums + static_cast<size_t>(t) * run.sums_stride + d + v * 4, sums[t][v]);
    });
  });
}

template <int kRows>
[[gnu::flatten]] void add_rows(const ValueRun& run) {
  uint32_t d = 0;
  for (; d + 16 <= run.head_dim; d += 16) add_columns<kRows, 4>(run, d, 4);
  for (; d < run.head_dim; d += 4) add_columns<kRows, 1>(run, d, run.head_dim - d);
}

// All ones in the lanes of vector `v` that are valid positions.
[[gnu::always_inline]] inline uint32x4_t valid_lanes(int v, uint32_t positions) {
  static constexpr uint32_t kIndex[4] = {0, 1, 2, 3};
  const uint32x4_t index = vaddq_u32(vld1q_u32(kIndex), vdupq_n_u32(static_cast<uint32_t>(v * 4)));
  return vcltq_u32(index, vdupq_n_u32(positions));
}

}  // namespace

float softmax_step(float* scores, uint32_t positions, SoftmaxState& state) {
  const float32x4_t nothing = vdupq_n_f32(-__builtin_inff());
  const float32x4_t before = vdupq_n_f32(state.maximum);
  uint32x4_t valid[kVectors];
  float32x4_t values[kVectors];
  float32x4_t largest = before;
  unrolled<kVectors>([&](auto v) {
    valid[v] = valid_lanes(v, positions);
    values[v] = vbslq_f32(valid[v], vld1q_f32(scores + v * 4), nothing);
    // Not vmaxq: a score that is NaN must not become the maximum.
    largest = vbslq_f32(vcgtq_f32(values[v], largest), values[v], largest);
  });
  const float maximum = vmaxvq_f32(largest);
  const float32x4_t center = vdupq_n_f32(maximum);
  unrolled<kVectors>([&](auto v) {
    const float32x4_t weight = exponential(vsubq_f32(values[v], center));
    values[v] = vreinterpretq_f32_u32(vandq_u32(valid[v], vreinterpretq_u32_f32(weight)));
    vst1q_f32(scores + v * 4, values[v]);
  });
  // 32 numbers are halved five times, as portable::softmax_step does.
  unrolled<4>([&](auto v) { values[v] = vaddq_f32(values[v], values[v + 4]); });
  const float32x4_t four =
      vaddq_f32(vaddq_f32(values[0], values[2]), vaddq_f32(values[1], values[3]));
  const float rescale = vgetq_lane_f32(exponential(vsubq_f32(before, center)), 0);
  state.sum = __builtin_fmaf(state.sum, rescale, sum_of(four));
  state.maximum = maximum;
  return rescale;
}

void add_values(const ValueRun& run) {
  static constexpr void (*kRuns[kFloatRows])(const ValueRun&) = {
      add_rows<1>, add_rows<2>, add_rows<3>, add_rows<4>, add_rows<5>};
  kRuns[run.row_count - 1](run);
}

}  // namespace smoe::cpu::neon
