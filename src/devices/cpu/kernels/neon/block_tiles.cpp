// Formats with blocks of 32 weights.
#include "devices/cpu/kernels/neon/block_pass.h"
#include "devices/cpu/kernels/neon/neon.h"

namespace smoe::cpu::neon {
namespace {

// Group `group` of nibbles: low halves first, then high ones.
[[gnu::always_inline]] inline uint8x16_t nibbles(const std::byte* words, int group) {
  return bits_of(load_bits(words + group % 4 * 64), group / 4 * 4, 15);
}

// Bits 4 group to 4 group + 3 of each row's word, as bit 4 of a byte each.
[[gnu::always_inline]] inline uint8x16_t fifth_bits(const std::byte* words, int group) {
  static constexpr uint8_t kFirst[16] = {0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12};
  static constexpr uint8_t kBits[16] = {1, 2, 4, 8, 1, 2, 4, 8, 1, 2, 4, 8, 1, 2, 4, 8};
  const uint8x16_t byte = vdupq_n_u8(static_cast<uint8_t>(group / 2));
  const uint8x16_t spread = vqtbl1q_u8(load_bits(words), vaddq_u8(vld1q_u8(kFirst), byte));
  const uint8x16_t moved = bits_of(spread, group % 2 * 4, 15);
  return vandq_u8(vtstq_u8(moved, vld1q_u8(kBits)), vdupq_n_u8(16));
}

// A scale, and nothing else in front of the words.
struct Scaled {
  using Head = float32x4_t;
  static constexpr uint32_t kBlockK = 32;
  static constexpr size_t kHeadBytes = 2;
  static constexpr uint32_t kUnitBlocks = 2;
  static constexpr uint32_t kPartK = 32;
  static constexpr bool kHasBases = false;
  [[gnu::always_inline]] static float32x4_t head(const std::byte* at) { return load_halves(at); }
  [[gnu::always_inline]] static float32x4_t step(float32x4_t head, const std::byte*, int) {
    return head;
  }
};

// A scale and a minimum.
struct Based {
  using Head = ScaleAndBase;
  static constexpr uint32_t kBlockK = 32;
  static constexpr size_t kHeadBytes = 4;
  static constexpr uint32_t kUnitBlocks = 1;
  static constexpr uint32_t kPartK = 32;
  static constexpr bool kHasBases = true;
  [[gnu::always_inline]] static Head head(const std::byte* at) { return load_half_pairs(at); }
  [[gnu::always_inline]] static float32x4_t step(const Head& head, const std::byte*, int) {
    return head.scale;
  }
  [[gnu::always_inline]] static float32x4_t base(const Head& head, const std::byte*, int) {
    return head.base;
  }
};

struct Q8Zero : Scaled {
  static constexpr size_t kBlockBytes = 34;
  [[gnu::always_inline]] static int8x16_t codes(const std::byte* words, int, int group) {
    return load_codes(words + group * 64);
  }
};

struct Q4Zero : Scaled {
  static constexpr size_t kBlockBytes = 18;
  [[gnu::always_inline]] static int8x16_t codes(const std::byte* words, int, int group) {
    return less(nibbles(words, group), 8);
  }
};

struct Q5Zero : Scaled {
  static constexpr size_t kBlockBytes = 22;
  [[gnu::always_inline]] static int8x16_t codes(const std::byte* words, int, int group) {
    return less(vorrq_u8(nibbles(words + 64, group), fifth_bits(words, group)), 16);
  }
};

struct Q4One : Based {
  static constexpr size_t kBlockBytes = 20;
  [[gnu::always_inline]] static int8x16_t codes(const std::byte* words, int, int group) {
    return less(nibbles(words, group), 0);
  }
};

struct Q5One : Based {
  static constexpr size_t kBlockBytes = 24;
  [[gnu::always_inline]] static int8x16_t codes(const std::byte* words, int, int group) {
    return less(vorrq_u8(nibbles(words + 64, group), fifth_bits(words, group)), 0);
  }
};

struct Iq4Nl : Scaled {
  static constexpr size_t kBlockBytes = 18;
  [[gnu::always_inline]] static int8x16_t codes(const std::byte* words, int, int group) {
    return look_up(kIq4Levels, nibbles(words, group));
  }
};

struct Mxfp4 : Scaled {
  static constexpr size_t kBlockBytes = 17;
  static constexpr size_t kHeadBytes = 1;
  static constexpr uint32_t kUnitBlocks = 4;
  static constexpr int8_t kLevels[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
  [[gnu::always_inline]] static int8x16_t codes(const std::byte* words, int, int group) {
    return look_up(kLevels, nibbles(words, group));
  }
  // 2^(exponent - 128); the two smallest are subnormal.
  [[gnu::always_inline]] static float32x4_t head(const std::byte* at) {
    uint32_t four = 0;
    std::memcpy(&four, at, sizeof four);
    const uint16x8_t wide = vmovl_u8(vcreate_u8(four));
    const int32x4_t exponent = vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(wide)));
    const int32x4_t normal = vshlq_n_s32(vsubq_s32(exponent, vdupq_n_s32(1)), 23);
    const int32x4_t tiny = vshlq_s32(vdupq_n_s32(0x00200000), exponent);
    const uint32x4_t is_tiny = vcltq_s32(exponent, vdupq_n_s32(2));
    return vreinterpretq_f32_s32(vbslq_s32(is_tiny, tiny, normal));
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

}  // namespace smoe::cpu::neon
