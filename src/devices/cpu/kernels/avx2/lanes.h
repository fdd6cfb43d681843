// Loops that are written out at compile time, and vectors of which some lanes count.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <type_traits>
#include <utility>

namespace smoe::cpu::avx2 {
namespace {

template <class Body, int... kIndex>
[[gnu::always_inline]] inline void unroll(Body& body, std::integer_sequence<int, kIndex...>) {
  (body(std::integral_constant<int, kIndex>{}), ...);
}

// body(0), ... body(kCount - 1) with constants, so that arrays indexed by them become registers.
// The function around it is `flatten`: a body that is not inlined keeps every sum in memory.
template <int kCount, class Body>
[[gnu::always_inline]] inline void unrolled(Body body) {
  unroll(body, std::make_integer_sequence<int, kCount>{});
}

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
