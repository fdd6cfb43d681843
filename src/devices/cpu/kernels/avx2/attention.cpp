#include "devices/cpu/kernels/avx2/avx2.h"
#include "devices/cpu/kernels/avx2/exponential.h"
#include "devices/cpu/kernels/avx2/lanes.h"

namespace smoe::cpu::avx2 {
namespace {

constexpr int kVectors = kStepPositions / 8;

[[gnu::always_inline]] inline float largest_of(__m256 values) {
  __m128 half = _mm_max_ps(_mm256_castps256_ps128(values), _mm256_extractf128_ps(values, 1));
  half = _mm_max_ps(half, _mm_movehl_ps(half, half));
  half = _mm_max_ss(half, _mm_movehdup_ps(half));
  return _mm_cvtss_f32(half);
}

// Halves 8 numbers three times, as portable::softmax_step does.
[[gnu::always_inline]] inline float sum_of(__m256 values) {
  __m128 half = _mm_add_ps(_mm256_castps256_ps128(values), _mm256_extractf128_ps(values, 1));
  half = _mm_add_ps(half, _mm_movehl_ps(half, half));
  half = _mm_add_ss(half, _mm_movehdup_ps(half));
  return _mm_cvtss_f32(half);
}

// kRows queries, kColumns vectors of the values.
template <int kRows, int kColumns>
[[gnu::always_inline]] inline void add_columns(const ValueRun& run, uint32_t d, uint32_t lanes) {
  __m256 sums[kRows][kColumns];
  unrolled<kRows>([&](auto t) {
    const __m256 rescale = _mm256_broadcast_ss(run.rescale + t);
    unrolled<kColumns>([&](auto v) {
      const float* from = run.sums + static_cast<size_t>(t) * run.sums_stride + d + v * 8;
      sums[t][v] = _mm256_mul_ps(_mm256_loadu_ps(from), rescale);
    });
  });
  const float* values = run.values + d;
  for (uint32_t i = 0; i < run.positions; ++i, values += run.head_dim) {
    __m256 value[kColumns];
    unrolled<kColumns>([&](auto v) {
      value[v] = kColumns > 1 ? _mm256_loadu_ps(values + v * 8) : load_lanes(values, lanes);
    });
    unrolled<kRows>([&](auto t) {
      const __m256 weight =
          _mm256_broadcast_ss(run.weights + static_cast<size_t>(t) * kStepPositions + i);
      unrolled<kColumns>(
          [&](auto v) { sums[t][v] = _mm256_fmadd_ps(weight, value[v], sums[t][v]); });
    });
  }
  unrolled<kRows>([&](auto t) {
    unrolled<kColumns>([&](auto v) {
      _mm256_storeu_ps(run.sums + static_cast<size_t>(t) * run.sums_stride + d + v * 8, sums[t][v]);
    });
  });
}

template <int kRows>
[[gnu::flatten]] void add_rows(const ValueRun& run) {
  uint32_t d = 0;
  for (; d + 16 <= run.head_dim; d += 16) add_columns<kRows, 2>(run, d, 8);
  for (; d < run.head_dim; d += 8) add_columns<kRows, 1>(run, d, run.head_dim - d);
}

}  // namespace

float softmax_step(float* scores, uint32_t positions, SoftmaxState& state) {
  const __m256 nothing = _mm256_set1_ps(-__builtin_inff());
  const __m256 before = _mm256_set1_ps(state.maximum);
  __m256 valid[kVectors];
  __m256 values[kVectors];
  __m256 largest = before;
  unrolled<kVectors>([&](auto v) {
    const auto first = static_cast<uint32_t>(v * 8);
    const uint32_t lanes = positions > first ? positions - first : 0;
    valid[v] = _mm256_castsi256_ps(first_lanes(lanes));
    values[v] = _mm256_blendv_ps(nothing, _mm256_loadu_ps(scores + v * 8), valid[v]);
    largest = _mm256_max_ps(values[v], largest);
  });
  const float maximum = largest_of(largest);
  const __m256 center = _mm256_set1_ps(maximum);
  unrolled<kVectors>([&](auto v) {
    values[v] = _mm256_and_ps(valid[v], exponential(_mm256_sub_ps(values[v], center)));
    _mm256_storeu_ps(scores + v * 8, values[v]);
  });
  const __m256 sums =
      _mm256_add_ps(_mm256_add_ps(values[0], values[2]), _mm256_add_ps(values[1], values[3]));
  const float rescale = _mm256_cvtss_f32(exponential(_mm256_sub_ps(before, center)));
  state.sum = __builtin_fmaf(state.sum, rescale, sum_of(sums));
  state.maximum = maximum;
  return rescale;
}

void add_values(const ValueRun& run) {
  static constexpr void (*kRuns[kFloatRows])(const ValueRun&) = {
      add_rows<1>, add_rows<2>, add_rows<3>, add_rows<4>, add_rows<5>, add_rows<6>};
  kRuns[run.row_count - 1](run);
}

}  // namespace smoe::cpu::avx2
