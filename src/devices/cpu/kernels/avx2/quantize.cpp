// Activations to int8, in blocks of 32 that share a scale.
#include <cstring>

#include "devices/cpu/kernels/avx2/avx2.h"
#include "devices/cpu/kernels/avx2/lanes.h"
#include "devices/cpu/kernels/avx2/quantized.h"

namespace smoe::cpu::avx2 {
namespace {

constexpr float kSmallest = 1e-30F;  // below it 127 / maximum would overflow

[[gnu::always_inline]] inline __m256i load_bits(const void* from) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(from));
}

// The largest of eight whole numbers.
[[gnu::always_inline]] inline int largest_of(__m256i values) {
  __m128i half = _mm_max_epi32(_mm256_castsi256_si128(values), _mm256_extracti128_si256(values, 1));
  half = _mm_max_epi32(half, _mm_shuffle_epi32(half, 0x4e));
  half = _mm_max_epi32(half, _mm_shuffle_epi32(half, 0xb1));
  return _mm_cvtsi128_si32(half);
}

// The sum of sixteen 16-bit numbers.
[[gnu::always_inline]] inline int sum_of(__m256i values) {
  const __m256i pairs = _mm256_madd_epi16(values, _mm256_set1_epi16(1));
  __m128i half = _mm_add_epi32(_mm256_castsi256_si128(pairs), _mm256_extracti128_si256(pairs, 1));
  half = _mm_add_epi32(half, _mm_shuffle_epi32(half, 0x4e));
  half = _mm_add_epi32(half, _mm_shuffle_epi32(half, 0xb1));
  return _mm_cvtsi128_si32(half);
}

// 16 activations as 16-bit numbers.
[[gnu::always_inline]] inline __m256i round_16(const float* in, __m256 inverse) {
  const __m256i low = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(in), inverse));
  const __m256i high = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(in + 8), inverse));
  return _mm256_permute4x64_epi64(_mm256_packs_epi32(low, high), 0xd8);
}

// Each group of four in the order 0 2 1 3.
[[gnu::always_inline]] inline __m256i even_first(__m256i values) {
  return _mm256_shufflehi_epi16(_mm256_shufflelo_epi16(values, 0xd8), 0xd8);
}

void quantize_block(const float* in, std::byte* out) {
  const __m256i magnitude = _mm256_set1_epi32(0x7fffffff);
  __m256i largest = _mm256_setzero_si256();
  unrolled<4>([&](auto i) {
    // As whole numbers NaN and infinity are the largest.
    largest = _mm256_max_epi32(largest, _mm256_and_si256(load_bits(in + i * 8), magnitude));
  });
  const int bits = largest_of(largest);
  float maximum = 0;
  std::memcpy(&maximum, &bits, sizeof maximum);

  float scale = 0;
  __m256i values[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
  if (bits >= 0x7f800000) {
    scale = __builtin_nanf("");
  } else if (maximum >= kSmallest) {
    scale = maximum / 127.0F;
    const __m256 inverse = _mm256_set1_ps(127.0F / maximum);
    values[0] = round_16(in, inverse);
    values[1] = round_16(in + 16, inverse);
  }
  const __m256i words[2] = {even_first(values[0]), even_first(values[1])};
  const __m256i bytes = _mm256_permute4x64_epi64(_mm256_packs_epi16(values[0], values[1]), 0xd8);
  const int sums[3] = {sum_of(values[0]), sum_of(values[1]),
                       sum_of(_mm256_add_epi16(values[0], values[1]))};
  std::memcpy(out, words, sizeof words);
  std::memcpy(out + kBytesOffset, &bytes, sizeof bytes);
  std::memcpy(out + kScaleOffset, &scale, sizeof scale);
  std::memcpy(out + kSumsOffset, sums, sizeof sums);
}

}  // namespace

void quantize(const float* in, uint32_t cols, std::byte* out) {
  for (uint32_t k = 0; k < cols; k += kQuantBlock, out += kQuantizedBlockBytes)
    quantize_block(in + k, out);
}

}  // namespace smoe::cpu::avx2
