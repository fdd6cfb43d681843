// Vectors out of the bytes of blocks.
#pragma once

#include <arm_neon.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace smoe::cpu::neon {
namespace {

[[gnu::always_inline]] inline uint8x16_t load_bits(const std::byte* from) {
  return vld1q_u8(reinterpret_cast<const uint8_t*>(from));
}

[[gnu::always_inline]] inline int8x16_t load_codes(const std::byte* from) {
  return vld1q_s8(reinterpret_cast<const int8_t*>(from));
}

[[gnu::always_inline]] inline uint32x4_t load_words(const std::byte* from) {
  return vreinterpretq_u32_u8(load_bits(from));
}

[[gnu::always_inline]] inline float32x4_t widen_halves(uint16x4_t halves) {
  return vcvt_f32_f16(vreinterpret_f16_u16(halves));
}

[[gnu::always_inline]] inline float32x4_t load_halves(const std::byte* from) {
  return widen_halves(vreinterpret_u16_u8(vld1_u8(reinterpret_cast<const uint8_t*>(from))));
}

// Scales and minima side by side, fp16, of four rows.
struct ScaleAndBase {
  float32x4_t scale;
  float32x4_t base;
};

[[gnu::always_inline]] inline ScaleAndBase load_half_pairs(const std::byte* from) {
  const uint32x4_t pairs = load_words(from);
  return {widen_halves(vmovn_u32(pairs)), widen_halves(vshrn_n_u32(pairs, 16))};
}

// Bits `shift` and up of each byte, as `mask` keeps them.
[[gnu::always_inline]] inline uint8x16_t bits_of(uint8x16_t bytes, int shift, uint8_t mask) {
  const uint8x16_t moved = vshlq_u8(bytes, vdupq_n_s8(static_cast<int8_t>(-shift)));
  return vandq_u8(moved, vdupq_n_u8(mask));
}

// Unsigned codes that are `offset` too large.
[[gnu::always_inline]] inline int8x16_t less(uint8x16_t codes, int8_t offset) {
  return vsubq_s8(vreinterpretq_s8_u8(codes), vdupq_n_s8(offset));
}

// The value of each code below 16.
[[gnu::always_inline]] inline int8x16_t look_up(const int8_t (&values)[16], uint8x16_t codes) {
  return vqtbl1q_s8(vld1q_s8(values), codes);
}

// The 16 values of IQ4_NL and IQ4_XS.
inline constexpr int8_t kIq4Levels[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                          1,    13,   25,  38,  53,  69,  89,  113};

}  // namespace
}  // namespace smoe::cpu::neon
