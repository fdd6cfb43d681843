#include "devices/cpu/kernels/avx2/avx2.h"
#include "devices/cpu/kernels/avx2/exponential.h"
#include "devices/cpu/kernels/avx2/lanes.h"

namespace smoe::cpu::avx2 {
namespace {

// Element i belongs to partial sum i % 16; lanes beyond the row add zero, which changes no bit.
float sum_of_squares(const float* in, uint32_t width) {
  __m256 sums[2] = {_mm256_setzero_ps(), _mm256_setzero_ps()};
  uint32_t i = 0;
  for (; i + 16 <= width; i += 16) {
    unrolled<2>([&](auto h) {
      const __m256 x = _mm256_loadu_ps(in + i + h * 8);
      sums[h] = _mm256_fmadd_ps(x, x, sums[h]);
    });
  }
  for (int h = 0; i < width; i += 8, ++h) {
    const __m256 x = load_lanes(in + i, width - i);
    sums[h] = _mm256_fmadd_ps(x, x, sums[h]);
  }
  const __m256 eight = _mm256_add_ps(sums[0], sums[1]);
  __m128 half = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  half = _mm_add_ps(half, _mm_movehl_ps(half, half));
  half = _mm_add_ss(half, _mm_movehdup_ps(half));
  return _mm_cvtss_f32(half);
}

}  // namespace

void normalize(const NormRun& run) {
  const float mean = sum_of_squares(run.in, run.width) / static_cast<float>(run.width);
  const __m128 root = _mm_sqrt_ss(_mm_set_ss(mean + run.epsilon));
  const __m256 inverse = _mm256_set1_ps(1.0F / _mm_cvtss_f32(root));
  for (uint32_t i = 0; i < run.width; i += 8) {
    const uint32_t lanes = run.width - i;
    const __m256 scaled = _mm256_mul_ps(load_lanes(run.in + i, lanes), inverse);
    store_lanes(run.out + i, lanes, _mm256_mul_ps(scaled, load_lanes(run.weight + i, lanes)));
  }
}

void gate(float* gate, const float* up, uint32_t width) {
  const __m256 one = _mm256_set1_ps(1.0F);
  const __m256 sign = _mm256_set1_ps(-0.0F);
  for (uint32_t i = 0; i < width; i += 8) {
    const uint32_t lanes = width - i;
    const __m256 x = load_lanes(gate + i, lanes);
    const __m256 below = _mm256_add_ps(one, exponential(_mm256_xor_ps(x, sign)));
    const __m256 silu = _mm256_div_ps(x, below);
    store_lanes(gate + i, lanes, _mm256_mul_ps(silu, load_lanes(up + i, lanes)));
  }
}

void rotate(float* head, const float* angles, uint32_t dims) {
  const uint32_t half = dims / 2;
  for (uint32_t i = 0; i < half; i += 8) {
    const uint32_t lanes = half - i;
    const __m256 first = load_lanes(head + i, lanes);
    const __m256 second = load_lanes(head + half + i, lanes);
    const __m256 cosine = load_lanes(angles + i, lanes);
    const __m256 sine = load_lanes(angles + half + i, lanes);
    store_lanes(head + i, lanes, _mm256_fnmadd_ps(second, sine, _mm256_mul_ps(first, cosine)));
    store_lanes(head + half + i, lanes,
                _mm256_fmadd_ps(first, sine, _mm256_mul_ps(second, cosine)));
  }
}

}  // namespace smoe::cpu::avx2
