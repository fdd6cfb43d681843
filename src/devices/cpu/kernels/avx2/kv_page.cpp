// Pages of the KV cache as f32.
#include <cstring>

#include "devices/cpu/kernels/avx2/avx2.h"
#include "devices/cpu/kernels/avx2/lanes.h"

namespace smoe::cpu::avx2 {
namespace {

// Eight codes from `from` on.
[[gnu::always_inline]] inline __m256 codes_at(const std::byte* from) {
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
  return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes));
}

[[gnu::always_inline]] inline __m256 halves_at(const std::byte* from) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}

[[gnu::always_inline]] inline __m256 half_at(const std::byte* from) {
  uint16_t half = 0;
  std::memcpy(&half, from, sizeof half);
  return _mm256_broadcastss_ps(_mm_cvtph_ps(_mm_cvtsi32_si128(half)));
}

}  // namespace

void widen_f16(const std::byte* in, size_t count, float* out) {
  for (size_t i = 0; i < count; i += 8) _mm256_storeu_ps(out + i, halves_at(in + i * 2));
}

void widen_keys(const std::byte* in, uint32_t head_dim, float* out) {
  const std::byte* scales = in + size_t{kStepPositions} * head_dim;
  for (uint32_t tile = 0; tile < kStepPositions / kTileRows; ++tile) {
    for (uint32_t begin = 0; begin < head_dim; begin += kQuantBlock, scales += kTileRows * 2) {
      const __m256 low = halves_at(scales);
      const __m256 high = halves_at(scales + 16);
      const uint32_t left = head_dim - begin;
      const uint32_t count = left < kQuantBlock ? left : kQuantBlock;
      for (uint32_t d = 0; d < count; ++d, in += kTileRows, out += kTileRows) {
        _mm256_storeu_ps(out, _mm256_mul_ps(codes_at(in), low));
        _mm256_storeu_ps(out + 8, _mm256_mul_ps(codes_at(in + 8), high));
      }
    }
  }
}

// A row's last vector reaches into the next row, which is written after it.
void widen_values(const std::byte* in, uint32_t head_dim, float* out) {
  const std::byte* scales = in + size_t{kStepPositions} * head_dim;
  for (uint32_t position = 0; position < kStepPositions; ++position) {
    for (uint32_t d = 0; d < head_dim; d += 8) {
      const __m256 scale = half_at(scales + d / kQuantBlock * 2);
      _mm256_storeu_ps(out + d, _mm256_mul_ps(codes_at(in + d), scale));
    }
    in += head_dim;
    out += head_dim;
    scales += (head_dim + kQuantBlock - 1) / kQuantBlock * 2;
  }
}

}  // namespace smoe::cpu::avx2
