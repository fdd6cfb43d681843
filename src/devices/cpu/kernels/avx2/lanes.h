// Vectors of which some lanes count.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "devices/cpu/kernels/unrolled.h"

namespace smoe::cpu::avx2 {
namespace {

// All ones in the first `lanes` of eight.
[[gnu::always_inline]] inline __m256i first_lanes(uint32_t lanes) {
  const __m256i index = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(lanes)), index);
}

// Nothing beyond the first `lanes` is touched; what is not loaded is zero.
[[gnu::always_inline]] inline __m256 load_lanes(const float* from, uint32_t lanes) {
  return lanes >= 8 ? _mm256_loadu_ps(from) : _mm256_maskload_ps(from, first_lanes(lanes));
}

[[gnu::always_inline]] inline void store_lanes(float* to, uint32_t lanes, __m256 value) {
  if (lanes >= 8) {
    _mm256_storeu_ps(to, value);
  } else {
    _mm256_maskstore_ps(to, first_lanes(lanes), value);
  }
}

}  // namespace
}  // namespace smoe::cpu::avx2
