// Vectors out of the bytes of blocks.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace smoe::cpu::avx2 {
namespace {

[[gnu::always_inline]] inline __m256i load_bits(const std::byte* from) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}

[[gnu::always_inline]] inline __m256i broadcast_dword(const std::byte* from) {
  return _mm256_castps_si256(_mm256_broadcast_ss(reinterpret_cast<const float*>(from)));
}

[[gnu::always_inline]] inline __m256 broadcast_float(const std::byte* from) {
  return _mm256_broadcast_ss(reinterpret_cast<const float*>(from));
}

[[gnu::always_inline]] inline __m256 load_halves(const std::byte* from) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}

// Scales and minima side by side, fp16, of eight rows.
struct ScaleAndBase {
  __m256 scale;
  __m256 base;
};

[[gnu::always_inline]] inline ScaleAndBase load_half_pairs(const std::byte* from) {
  const __m256i pairs = load_bits(from);
  const __m256i first = _mm256_and_si256(pairs, _mm256_set1_epi32(0xffff));
  const __m256i second = _mm256_srli_epi32(pairs, 16);
  const __m256i apart = _mm256_permute4x64_epi64(_mm256_packus_epi32(first, second), 0xd8);
  return {_mm256_cvtph_ps(_mm256_castsi256_si128(apart)),
          _mm256_cvtph_ps(_mm256_extracti128_si256(apart, 1))};
}

// Bits `shift` and up of each byte, as `mask` keeps them.
[[gnu::always_inline]] inline __m256i bits_of(__m256i bytes, int shift, int mask) {
  const __m256i moved = _mm256_srl_epi16(bytes, _mm_cvtsi32_si128(shift));
  return _mm256_and_si256(moved, _mm256_set1_epi8(static_cast<char>(mask)));
}

// The value of each byte's lower half.
[[gnu::always_inline]] inline __m256i look_up(const int8_t (&values)[16], __m256i codes) {
  const __m128i table = _mm_loadu_si128(reinterpret_cast<const __m128i*>(values));
  return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(table), codes);
}

// The 16 values of IQ4_NL and IQ4_XS.
inline constexpr int8_t kIq4Levels[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                          1,    13,   25,  38,  53,  69,  89,  113};

}  // namespace
}  // namespace smoe::cpu::avx2
