// Formats with blocks of 256 weights, whose parts have scales of their own.
#include "devices/cpu/kernels/avx2/avx2.h"
#include "devices/cpu/kernels/avx2/block_pass.h"

namespace smoe::cpu::avx2 {
namespace {

// Vector `index`. First by what a loop counts, then by constants: these become displacements.
[[gnu::always_inline]] inline const std::byte* word_at(const std::byte* words, int index) {
  return words + static_cast<ptrdiff_t>(index) * 64;
}

// What `mask` keeps from bit `shift` on of each row's word `word`: a scale.
[[gnu::always_inline]] inline __m256i field(const std::byte* words, int word, int shift, int mask) {
  const __m256i moved = _mm256_srl_epi32(load_bits(word_at(words, word)), _mm_cvtsi32_si128(shift));
  return _mm256_and_si256(moved, _mm256_set1_epi32(mask));
}

[[gnu::always_inline]] inline __m256 times(__m256 scale, __m256i whole) {
  return _mm256_mul_ps(scale, _mm256_cvtepi32_ps(whole));
}

// Two bits of each weight of 32 k's: half `block / 4` of the words from `pairs` on.
[[gnu::always_inline]] inline __m256i two_bits(const std::byte* pairs, int block, int group) {
  return bits_of(load_bits(word_at(word_at(pairs, block / 4 * 8), group)), block % 4 * 2, 3);
}

// One bit of each weight, moved to bit `to`.
template <int kTo>
[[gnu::always_inline]] inline __m256i one_bit(const std::byte* words, int block, int group) {
  return _mm256_slli_epi16(bits_of(load_bits(word_at(words, group)), block, 1), kTo);
}

[[gnu::always_inline]] inline __m256 negative(__m256 values) {
  return _mm256_xor_ps(values, _mm256_set1_ps(-0.0F));
}

// A scale d and a scale of minima, and nothing else, in front of the words.
struct TwoScales {
  using Head = ScaleAndBase;
  static constexpr uint32_t kBlockK = 256;
  static constexpr size_t kHeadBytes = 4;
  static constexpr uint32_t kUnitBlocks = 1;
  static constexpr bool kHasBases = true;
  static constexpr int kOffset = 0;
  [[gnu::always_inline]] static Head head(const std::byte* at) {
    const ScaleAndBase both = load_half_pairs(at);
    return {both.scale, negative(both.base)};
  }
};

struct OneScale {
  using Head = __m256;
  static constexpr uint32_t kBlockK = 256;
  static constexpr size_t kHeadBytes = 2;
  static constexpr uint32_t kUnitBlocks = 2;
  static constexpr bool kHasBases = false;
  [[gnu::always_inline]] static __m256 head(const std::byte* at) { return load_halves(at); }
};

// Words 0 to 2: six-bit scales and minima of eight parts.
struct SixBits : TwoScales {
  static constexpr uint32_t kPartK = 32;
  [[gnu::always_inline]] static __m256 step(const Head& head, const std::byte* words, int part) {
    const int byte = part % 4 * 8;
    if (part < 4) return times(head.scale, field(words, 0, byte, 63));
    return times(head.scale, _mm256_or_si256(field(words, 2, byte, 15),
                                             _mm256_slli_epi32(field(words, 0, byte + 6, 3), 4)));
  }
  [[gnu::always_inline]] static __m256 base(const Head& head, const std::byte* words, int part) {
    const int byte = part % 4 * 8;
    if (part < 4) return times(head.base, field(words, 1, byte, 63));
    return times(head.base, _mm256_or_si256(field(words, 2, byte + 4, 15),
                                            _mm256_slli_epi32(field(words, 1, byte + 6, 3), 4)));
  }
  // Word 8 (block / 2) + group, low halves for even blocks.
  [[gnu::always_inline]] static __m256i nibbles(const std::byte* words, int block, int group) {
    return bits_of(load_bits(word_at(word_at(words, block / 2 * 8), group)), block % 2 * 4, 15);
  }
};

struct Q4K : SixBits {
  static constexpr size_t kBlockBytes = 144;
  static constexpr int kLargest = 15;
  [[gnu::always_inline]] static __m256i codes(const std::byte* words, int block, int group) {
    return nibbles(words + 3 * 64, block, group);
  }
};

struct Q5K : SixBits {
  static constexpr size_t kBlockBytes = 176;
  static constexpr int kLargest = 31;
  [[gnu::always_inline]] static __m256i codes(const std::byte* words, int block, int group) {
    return _mm256_or_si256(nibbles(words + 11 * 64, block, group),
                           one_bit<4>(words + 3 * 64, block, group));
  }
};

// Words 0 to 3: int8 scales of 16 parts. 4 to 35: nibbles; 36 to 51: pairs.
struct Q6K : OneScale {
  static constexpr size_t kBlockBytes = 210;
  static constexpr uint32_t kPartK = 16;
  static constexpr int kLargest = 63;
  static constexpr int kOffset = 32;
  [[gnu::always_inline]] static __m256 step(__m256 head, const std::byte* words, int part) {
    const __m256i top =
        _mm256_sll_epi32(load_bits(word_at(words, part / 4)), _mm_cvtsi32_si128(24 - part % 4 * 8));
    return times(head, _mm256_srai_epi32(top, 24));
  }
  [[gnu::always_inline]] static __m256i codes(const std::byte* words, int block, int group) {
    const std::byte* nibbles = word_at(words, block / 4 * 16 + block % 2 * 8);
    const __m256i low = bits_of(load_bits(word_at(nibbles, 4 + group)), block % 4 / 2 * 4, 15);
    const __m256i high = two_bits(words + 36 * 64, block, group);
    return _mm256_or_si256(low, _mm256_slli_epi16(high, 4));
  }
};

// Words 0 to 2: six-bit scales of 16 parts. 3 to 10: high bits; 11 to 26: pairs.
struct Q3K : OneScale {
  static constexpr size_t kBlockBytes = 110;
  static constexpr uint32_t kPartK = 16;
  static constexpr int kLargest = 7;
  static constexpr int kOffset = 4;
  [[gnu::always_inline]] static __m256 step(__m256 head, const std::byte* words, int part) {
    const int byte = part % 4 * 8;
    const __m256i low = field(words, part % 8 / 4, byte + part / 8 * 4, 15);
    const __m256i high = field(words, 2, byte + part / 4 * 2, 3);
    const __m256i whole = _mm256_or_si256(low, _mm256_slli_epi32(high, 4));
    return times(head, _mm256_sub_epi32(whole, _mm256_set1_epi32(32)));
  }
  [[gnu::always_inline]] static __m256i codes(const std::byte* words, int block, int group) {
    return _mm256_or_si256(two_bits(words + 11 * 64, block, group),
                           one_bit<2>(words + 3 * 64, block, group));
  }
};

// Words 0 to 3: scales and minima of 16 parts, four bits each; 4 to 19: pairs.
struct Q2K : TwoScales {
  static constexpr size_t kBlockBytes = 84;
  static constexpr uint32_t kPartK = 16;
  static constexpr int kLargest = 3;
  [[gnu::always_inline]] static __m256 step(const Head& head, const std::byte* words, int part) {
    return times(head.scale, field(words, part / 4, part % 4 * 8, 15));
  }
  [[gnu::always_inline]] static __m256 base(const Head& head, const std::byte* words, int part) {
    return times(head.base, field(words, part / 4, part % 4 * 8 + 4, 15));
  }
  [[gnu::always_inline]] static __m256i codes(const std::byte* words, int block, int group) {
    return two_bits(words + 4 * 64, block, group);
  }
};

// The head is d and two high bits of each part's scale; word 0 their low halves, then nibbles.
struct Iq4Xs {
  struct Head {
    __m256 scale;
    __m256i pairs;
  };
  static constexpr uint32_t kBlockK = 256;
  static constexpr size_t kBlockBytes = 136;
  static constexpr size_t kHeadBytes = 4;
  static constexpr uint32_t kUnitBlocks = 1;
  static constexpr uint32_t kPartK = 32;
  static constexpr bool kHasBases = false;
  static constexpr int kLargest = 0;
  static constexpr int kOffset = 0;
  [[gnu::always_inline]] static Head head(const std::byte* at) {
    return {load_half_pairs(at).scale, _mm256_srli_epi32(load_bits(at), 16)};
  }
  [[gnu::always_inline]] static __m256 step(const Head& head, const std::byte* words, int part) {
    const __m256i low = field(words, 0, part * 4, 15);
    const __m256i high = _mm256_and_si256(_mm256_srl_epi32(head.pairs, _mm_cvtsi32_si128(part * 2)),
                                          _mm256_set1_epi32(3));
    const __m256i whole = _mm256_or_si256(low, _mm256_slli_epi32(high, 4));
    return times(head.scale, _mm256_sub_epi32(whole, _mm256_set1_epi32(32)));
  }
  [[gnu::always_inline]] static __m256i codes(const std::byte* words, int block, int group) {
    const __m256i four = load_bits(word_at(word_at(words, block * 4), 1 + group % 4));
    return look_up(kIq4Levels, bits_of(four, group / 4 * 4, 15));
  }
};

}  // namespace

void run_q2_k(const TileRun& run) { run_source<Q2K>(run); }
void run_q3_k(const TileRun& run) { run_source<Q3K>(run); }
void run_q4_k(const TileRun& run) { run_source<Q4K>(run); }
void run_q5_k(const TileRun& run) { run_source<Q5K>(run); }
void run_q6_k(const TileRun& run) { run_source<Q6K>(run); }
void run_iq4_xs(const TileRun& run) { run_source<Iq4Xs>(run); }

}  // namespace smoe::cpu::avx2
