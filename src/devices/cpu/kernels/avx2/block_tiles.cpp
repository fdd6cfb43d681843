// Formats with blocks of 32 weights.
#include "devices/cpu/kernels/avx2/avx2.h"
#include "devices/cpu/kernels/avx2/block_pass.h"

namespace smoe::cpu::avx2 {
namespace {

// Group `group` of nibbles: low halves first, then high ones.
[[gnu::always_inline]] inline __m256i nibbles(const std::byte* words, int group) {
  return bits_of(load_bits(words + group % 4 * 64), group / 4 * 4, 15);
}

// Bits 4 group to 4 group + 3 of each row's word, as bit 4 of a byte each.
[[gnu::always_inline]] inline __m256i fifth_bits(const std::byte* words, int group) {
  const int byte = group / 2 * 0x01010101;
  const __m256i spread = _mm256_shuffle_epi8(
      load_bits(words),
      _mm256_setr_epi32(byte, byte + 0x04040404, byte + 0x08080808, byte + 0x0c0c0c0c, byte,
                        byte + 0x04040404, byte + 0x08080808, byte + 0x0c0c0c0c));
  const __m256i own = _mm256_set1_epi32(group % 2 == 0 ? 0x08040201 : static_cast<int>(0x80402010));
  const __m256i set = _mm256_cmpeq_epi8(_mm256_and_si256(spread, own), own);
  return _mm256_and_si256(set, _mm256_set1_epi8(16));
}

// A scale, and nothing else in front of the words.
struct Scaled {
  using Head = __m256;
  static constexpr uint32_t kBlockK = 32;
  static constexpr size_t kHeadBytes = 2;
  static constexpr uint32_t kUnitBlocks = 2;
  static constexpr uint32_t kPartK = 32;
  static constexpr bool kHasBases = false;
  [[gnu::always_inline]] static __m256 head(const std::byte* at) { return load_halves(at); }
  [[gnu::always_inline]] static __m256 step(__m256 head, const std::byte*, int) { return head; }
};

// A scale and a minimum.
struct Based {
  using Head = ScaleAndBase;
  static constexpr uint32_t kBlockK = 32;
  static constexpr size_t kHeadBytes = 4;
  static constexpr uint32_t kUnitBlocks = 1;
  static constexpr uint32_t kPartK = 32;
  static constexpr bool kHasBases = true;
  static constexpr int kOffset = 0;
  [[gnu::always_inline]] static Head head(const std::byte* at) { return load_half_pairs(at); }
  [[gnu::always_inline]] static __m256 step(const Head& head, const std::byte*, int) {
    return head.scale;
  }
  [[gnu::always_inline]] static __m256 base(const Head& head, const std::byte*, int) {
    return head.base;
  }
};

struct Q8Zero : Scaled {
  static constexpr size_t kBlockBytes = 34;
  static constexpr int kLargest = 0;
  static constexpr int kOffset = 0;
  [[gnu::always_inline]] static __m256i codes(const std::byte* words, int, int group) {
    return load_bits(words + group * 64);
  }
};

struct Q4Zero : Scaled {
  static constexpr size_t kBlockBytes = 18;
  static constexpr int kLargest = 15;
  static constexpr int kOffset = 8;
  [[gnu::always_inline]] static __m256i codes(const std::byte* words, int, int group) {
    return nibbles(words, group);
  }
};

struct Q5Zero : Scaled {
  static constexpr size_t kBlockBytes = 22;
  static constexpr int kLargest = 31;
  static constexpr int kOffset = 16;
  [[gnu::always_inline]] static __m256i codes(const std::byte* words, int, int group) {
    return _mm256_or_si256(nibbles(words + 64, group), fifth_bits(words, group));
  }
};

struct Q4One : Based {
  static constexpr size_t kBlockBytes = 20;
  static constexpr int kLargest = 15;
  [[gnu::always_inline]] static __m256i codes(const std::byte* words, int, int group) {
    return nibbles(words, group);
  }
};

struct Q5One : Based {
  static constexpr size_t kBlockBytes = 24;
  static constexpr int kLargest = 31;
  [[gnu::always_inline]] static __m256i codes(const std::byte* words, int, int group) {
    return _mm256_or_si256(nibbles(words + 64, group), fifth_bits(words, group));
  }
};

// Its levels reach from -127 to 113: too far for unsigned codes.
struct Iq4Nl : Scaled {
  static constexpr size_t kBlockBytes = 18;
  static constexpr int kLargest = 0;
  static constexpr int kOffset = 0;
  [[gnu::always_inline]] static __m256i codes(const std::byte* words, int, int group) {
    return look_up(kIq4Levels, nibbles(words, group));
  }
};

struct Mxfp4 : Scaled {
  static constexpr size_t kBlockBytes = 17;
  static constexpr size_t kHeadBytes = 1;
  static constexpr uint32_t kUnitBlocks = 4;
  static constexpr int kLargest = 24;
  static constexpr int kOffset = 12;
  // The levels, raised by kOffset.
  static constexpr int8_t kLevels[16] = {12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0};
  [[gnu::always_inline]] static __m256i codes(const std::byte* words, int, int group) {
    return look_up(kLevels, nibbles(words, group));
  }
  // 2^(exponent - 128); the two smallest are subnormal.
  [[gnu::always_inline]] static __m256 head(const std::byte* at) {
    const __m256i exponent =
        _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(at)));
    const __m256i normal = _mm256_slli_epi32(_mm256_sub_epi32(exponent, _mm256_set1_epi32(1)), 23);
    const __m256i tiny = _mm256_sllv_epi32(_mm256_set1_epi32(0x00200000), exponent);
    const __m256i is_tiny = _mm256_cmpgt_epi32(_mm256_set1_epi32(2), exponent);
    return _mm256_castsi256_ps(_mm256_blendv_epi8(normal, tiny, is_tiny));
  }
};

}  // namespace

void run_q8_0(const TileRun& run) { run_source<Q8Zero>(run); }
void run_q4_0(const TileRun& run) { run_source<Q4Zero>(run); }
void run_q4_1(const TileRun& run) { run_source<Q4One>(run); }
void run_q5_0(const TileRun& run) { run_source<Q5Zero>(run); }
void run_q5_1(const TileRun& run) { run_source<Q5One>(run); }
void run_iq4_nl(const TileRun& run) { run_source<Iq4Nl>(run); }
void run_mxfp4(const TileRun& run) { run_source<Mxfp4>(run); }

}  // namespace smoe::cpu::avx2
