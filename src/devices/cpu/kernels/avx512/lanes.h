// Vectors of which some lanes count.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "devices/cpu/kernels/unrolled.h"

namespace smoe::cpu::avx512 {
namespace {

[[gnu::always_inline]] inline __mmask16 first_lanes(uint32_t lanes) {
  return lanes >= 16 ? __mmask16{0xffff} : static_cast<__mmask16>((1U << lanes) - 1);
}

// Nothing beyond the first `lanes` is touched; what is not loaded is zero.
[[gnu::always_inline]] inline __m512 load_lanes(const float* from, uint32_t lanes) {
  return _mm512_maskz_loadu_ps(first_lanes(lanes), from);
}

[[gnu::always_inline]] inline void store_lanes(float* to, uint32_t lanes, __m512 value) {
  _mm512_mask_storeu_ps(to, first_lanes(lanes), value);
}

}  // namespace
}  // namespace smoe::cpu::avx512
