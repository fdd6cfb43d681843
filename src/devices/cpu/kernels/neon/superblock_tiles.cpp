// Formats with blocks of 256 weights, whose parts have scales of their own.
#include "devices/cpu/kernels/neon/block_pass.h"
#include "devices/cpu/kernels/neon/neon.h"

namespace smoe::cpu::neon {
namespace {

[[gnu::always_inline]] inline const std::byte* word_at(const std::byte* words, int index) {
  return words + static_cast<ptrdiff_t>(index) * 64;
}

// What `mask` keeps from bit `shift` on of each row's number: a scale.
[[gnu::always_inline]] inline uint32x4_t field(uint32x4_t numbers, int shift, uint32_t mask) {
  return vandq_u32(vshlq_u32(numbers, vdupq_n_s32(-shift)), vdupq_n_u32(mask));
}

[[gnu::always_inline]] inline uint32x4_t field(const std::byte* words, int word, int shift,
                                               uint32_t mask) {
  return field(load_words(word_at(words, word)), shift, mask);
}

// Six bits in two places.
[[gnu::always_inline]] inline uint32x4_t joined(uint32x4_t low, uint32x4_t high) {
  return vorrq_u32(low, vshlq_n_u32(high, 4));
}

[[gnu::always_inline]] inline float32x4_t times(float32x4_t scale, uint32x4_t whole) {
  return vmulq_f32(scale, vcvtq_f32_u32(whole));
}

// Six-bit scales around 32.
[[gnu::always_inline]] inline float32x4_t times_centered(float32x4_t scale, uint32x4_t whole) {
  const int32x4_t centered = vsubq_s32(vreinterpretq_s32_u32(whole), vdupq_n_s32(32));
  return vmulq_f32(scale, vcvtq_f32_s32(centered));
}

// Two bits of each weight of 32 k's: half `block / 4` of the words from `pairs` on.
[[gnu::always_inline]] inline uint8x16_t two_bits(const std::byte* pairs, int block, int group) {
  return bits_of(load_bits(word_at(pairs, block / 4 * 8 + group)), block % 4 * 2, 3);
}

// One bit of each weight, moved to bit `to`.
template <int kTo>
[[gnu::always_inline]] inline uint8x16_t one_bit(const std::byte* words, int block, int group) {
  return vshlq_n_u8(bits_of(load_bits(word_at(words, group)), block, 1), kTo);
}

// A scale d and a scale of minima, and nothing else, in front of the words.
struct TwoScales {
  using Head = ScaleAndBase;
  static constexpr uint32_t kBlockK = 256;
  static constexpr size_t kHeadBytes = 4;
  static constexpr uint32_t kUnitBlocks = 1;
  static constexpr bool kHasBases = true;
  [[gnu::always_inline]] static Head head(const std::byte* at) {
    const ScaleAndBase both = load_half_pairs(at);
    return {both.scale, vnegq_f32(both.base)};
  }
};

struct OneScale {
  using Head = float32x4_t;
  static constexpr uint32_t kBlockK = 256;
  static constexpr size_t kHeadBytes = 2;
  static constexpr uint32_t kUnitBlocks = 2;
  static constexpr bool kHasBases = false;
  [[gnu::always_inline]] static float32x4_t head(const std::byte* at) { return load_halves(at); }
};

// Words 0 to 2: six-bit scales and minima of eight parts.
struct SixBits : TwoScales {
  static constexpr uint32_t kPartK = 32;
  [[gnu::always_inline]] static float32x4_t step(const Head& head, const std::byte* words,
                                                 int part) {
    const int byte = part % 4 * 8;
    if (part < 4) return times(head.scale, field(words, 0, byte, 63));
    return times(head.scale, joined(field(words, 2, byte, 15), field(words, 0, byte + 6, 3)));
  }
  [[gnu::always_inline]] static float32x4_t base(const Head& head, const std::byte* words,
                                                 int part) {
    const int byte = part % 4 * 8;
    if (part < 4) return times(head.base, field(words, 1, byte, 63));
    return times(head.base, joined(field(words, 2, byte + 4, 15), field(words, 1, byte + 6, 3)));
  }
  // Word 8 (block / 2) + group, low halves for even blocks.
  [[gnu::always_inline]] static uint8x16_t nibbles(const std::byte* words, int block, int group) {
    return bits_of(load_bits(word_at(words, block / 2 * 8 + group)), block % 2 * 4, 15);
  }
};

struct Q4K : SixBits {
  static constexpr size_t kBlockBytes = 144;
  [[gnu::always_inline]] static int8x16_t codes(const std::byte* words, int block, int group) {
    return less(nibbles(words + 3 * 64, block, group), 0);
  }
};

struct Q5K : SixBits {
  static constexpr size_t kBlockBytes = 176;
  [[gnu::always_inline]] static int8x16_t codes(const std::byte* words, int block, int group) {
    return less(
        vorrq_u8(nibbles(words + 11 * 64, block, group), one_bit<4>(words + 3 * 64, block, group)),
        0);
  }
};

// Words 0 to 3: int8 scales of 16 parts. 4 to 35: nibbles; 36 to 51: pairs.
struct Q6K : OneScale {
  static constexpr size_t kBlockBytes = 210;
  static constexpr uint32_t kPartK = 16;
  [[gnu::always_inline]] static float32x4_t step(float32x4_t head, const std::byte* words,
                                                 int part) {
    const int32x4_t whole = vreinterpretq_s32_u32(load_words(word_at(words, part / 4)));
    const int32x4_t top = vshlq_s32(whole, vdupq_n_s32(24 - part % 4 * 8));
    return vmulq_f32(head, vcvtq_f32_s32(vshrq_n_s32(top, 24)));
  }
  [[gnu::always_inline]] static int8x16_t codes(const std::byte* words, int block, int group) {
    const std::byte* nibbles = word_at(words, 4 + block / 4 * 16 + block % 2 * 8 + group);
    const uint8x16_t low = bits_of(load_bits(nibbles), block % 4 / 2 * 4, 15);
    const uint8x16_t high = two_bits(words + 36 * 64, block, group);
    return less(vorrq_u8(low, vshlq_n_u8(high, 4)), 32);
  }
};

// Words 0 to 2: six-bit scales of 16 parts. 3 to 10: high bits; 11 to 26: pairs.
struct Q3K : OneScale {
  static constexpr size_t kBlockBytes = 110;
  static constexpr uint32_t kPartK = 16;
  [[gnu::always_inline]] static float32x4_t step(float32x4_t head, const std::byte* words,
                                                 int part) {
    const int byte = part % 4 * 8;
    const uint32x4_t low = field(words, part % 8 / 4, byte + part / 8 * 4, 15);
    return times_centered(head, joined(low, field(words, 2, byte + part / 4 * 2, 3)));
  }
  [[gnu::always_inline]] static int8x16_t codes(const std::byte* words, int block, int group) {
    return less(
        vorrq_u8(two_bits(words + 11 * 64, block, group), one_bit<2>(words + 3 * 64, block, group)),
        4);
  }
};

// Words 0 to 3: scales and minima of 16 parts, four bits each; 4 to 19: pairs.
struct Q2K : TwoScales {
  static constexpr size_t kBlockBytes = 84;
  static constexpr uint32_t kPartK = 16;
  [[gnu::always_inline]] static float32x4_t step(const Head& head, const std::byte* words,
                                                 int part) {
    return times(head.scale, field(words, part / 4, part % 4 * 8, 15));
  }
  [[gnu::always_inline]] static float32x4_t base(const Head& head, const std::byte* words,
                                                 int part) {
    return times(head.base, field(words, part / 4, part % 4 * 8 + 4, 15));
  }
  [[gnu::always_inline]] static int8x16_t codes(const std::byte* words, int block, int group) {
    return less(two_bits(words + 4 * 64, block, group), 0);
  }
};

// The head is d and two high bits of each part's scale; word 0 their low halves, then nibbles.
struct Iq4Xs {
  struct Head {
    float32x4_t scale;
    uint32x4_t pairs;
  };
  static constexpr uint32_t kBlockK = 256;
  static constexpr size_t kBlockBytes = 136;
  static constexpr size_t kHeadBytes = 4;
  static constexpr uint32_t kUnitBlocks = 1;
  static constexpr uint32_t kPartK = 32;
  static constexpr bool kHasBases = false;
  [[gnu::always_inline]] static Head head(const std::byte* at) {
    return {load_half_pairs(at).scale, vshrq_n_u32(load_words(at), 16)};
  }
  [[gnu::always_inline]] static float32x4_t step(const Head& head, const std::byte* words,
                                                 int part) {
    const uint32x4_t low = field(words, 0, part * 4, 15);
    return times_centered(head.scale, joined(low, field(head.pairs, part * 2, 3)));
  }
  [[gnu::always_inline]] static int8x16_t codes(const std::byte* words, int block, int group) {
    const uint8x16_t four = load_bits(word_at(words, block * 4 + 1 + group % 4));
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

}  // namespace smoe::cpu::neon
