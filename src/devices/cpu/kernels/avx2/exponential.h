// Eight times portable::exponential.
#pragma once

#include <immintrin.h>

#include "devices/cpu/kernels/exponential.h"

namespace smoe::cpu::avx2 {
namespace {

[[gnu::always_inline]] inline __m256 exponential(__m256 x) {
  const __m256 round = _mm256_set1_ps(kExpRound);
  const __m256 shifted = _mm256_fmadd_ps(x, _mm256_set1_ps(kExpLog2E), round);
  const __m256 n = _mm256_sub_ps(shifted, round);
  __m256 r = _mm256_fmadd_ps(n, _mm256_set1_ps(-kExpLn2High), x);
  r = _mm256_fmadd_ps(n, _mm256_set1_ps(-kExpLn2Low), r);
  const __m256 one = _mm256_set1_ps(1.0F);
  __m256 sum = _mm256_set1_ps(kExpC6);
  sum = _mm256_fmadd_ps(sum, r, _mm256_set1_ps(kExpC5));
  sum = _mm256_fmadd_ps(sum, r, _mm256_set1_ps(kExpC4));
  sum = _mm256_fmadd_ps(sum, r, _mm256_set1_ps(kExpC3));
  sum = _mm256_fmadd_ps(sum, r, _mm256_set1_ps(kExpC2));
  sum = _mm256_fmadd_ps(sum, r, one);
  sum = _mm256_fmadd_ps(sum, r, one);
  const __m256i whole = _mm256_sub_epi32(_mm256_castps_si256(shifted), _mm256_castps_si256(round));
  const __m256i power = _mm256_slli_epi32(_mm256_add_epi32(whole, _mm256_set1_epi32(127)), 23);
  sum = _mm256_mul_ps(sum, _mm256_castsi256_ps(power));
  // Comparisons with NaN are false, so NaN stays.
  const __m256 low = _mm256_cmp_ps(x, _mm256_set1_ps(kExpLowest), _CMP_LT_OQ);
  const __m256 high = _mm256_cmp_ps(x, _mm256_set1_ps(kExpHighest), _CMP_GT_OQ);
  return _mm256_blendv_ps(_mm256_andnot_ps(low, sum), _mm256_set1_ps(__builtin_inff()), high);
}

}  // namespace
}  // namespace smoe::cpu::avx2
