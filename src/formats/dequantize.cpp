#include "formats/dequantize.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "base/floats.h"
#include "base/unaligned.h"

namespace smoe {
namespace {

float half_at(const std::byte* from) { return f16_to_float(load<uint16_t>(from)); }

unsigned byte_at(const std::byte* from) { return std::to_integer<unsigned>(*from); }

// Byte j of a block of 32 holds weight j in its low half and weight j + 16 in its high half.
template <class ToFloat>
void decode_nibbles(const std::byte* quants, float* out, const ToFloat& to_float) {
  for (size_t j = 0; j < 16; ++j) {
    const unsigned pair = byte_at(quants + j);
    out[j] = to_float(pair & 15U, j);
    out[j + 16] = to_float(pair >> 4U, j + 16);
  }
}

void decode_q4_0(const std::byte* block, float* out) {
  const float scale = half_at(block);
  decode_nibbles(block + 2, out, [&](unsigned code, size_t) {
    return static_cast<float>(static_cast<int>(code) - 8) * scale;
  });
}

void decode_q4_1(const std::byte* block, float* out) {
  const float scale = half_at(block);
  const float minimum = half_at(block + 2);
  decode_nibbles(block + 4, out,
                 [&](unsigned code, size_t) { return static_cast<float>(code) * scale + minimum; });
}

void decode_q5_0(const std::byte* block, float* out) {
  const float scale = half_at(block);
  const auto high = load<uint32_t>(block + 2);
  decode_nibbles(block + 6, out, [&](unsigned code, size_t k) {
    const unsigned whole = code | (high >> k & 1U) << 4U;
    return static_cast<float>(static_cast<int>(whole) - 16) * scale;
  });
}

void decode_q5_1(const std::byte* block, float* out) {
  const float scale = half_at(block);
  const float minimum = half_at(block + 2);
  const auto high = load<uint32_t>(block + 4);
  decode_nibbles(block + 8, out, [&](unsigned code, size_t k) {
    return static_cast<float>(code | (high >> k & 1U) << 4U) * scale + minimum;
  });
}

void decode_q8_0(const std::byte* block, float* out) {
  const float scale = half_at(block);
  for (size_t k = 0; k < 32; ++k) out[k] = static_cast<float>(load<int8_t>(block + 2 + k)) * scale;
}

void decode_iq4_nl(const std::byte* block, float* out) {
  const float scale = half_at(block);
  decode_nibbles(block + 2, out, [&](unsigned code, size_t) {
    return scale * static_cast<float>(kIq4Values[code]);
  });
}

void decode_mxfp4(const std::byte* block, float* out) {
  const float scale = mxfp4_scale(static_cast<uint8_t>(byte_at(block)));
  decode_nibbles(block + 1, out, [&](unsigned code, size_t) {
    return static_cast<float>(kMxfp4Values[code]) * scale;
  });
}

// 16 scales (4 bits and 4 bits for the minimum), 64 bytes of 2-bit codes, d, dmin. Half h of the
// block lies in bytes 32h to 32h + 31, its quarter s in bits 2s.
void decode_q2_k(const std::byte* block, float* out) {
  const std::byte* quants = block + 16;
  const float scale = half_at(block + 80);
  const float minimum = half_at(block + 82);
  for (size_t k = 0; k < 256; ++k) {
    const unsigned pair = byte_at(block + k / 16);
    const size_t half = k / 128;
    const size_t shift = k % 128 / 32 * 2;
    const unsigned code = byte_at(quants + half * 32 + k % 32) >> shift & 3U;
    out[k] = scale * static_cast<float>(pair & 15U) * static_cast<float>(code) -
             minimum * static_cast<float>(pair >> 4U);
  }
}

// 32 bytes of high bits (bit k / 32 of byte k % 32), 64 bytes of low pairs as in Q2_K, 12 of
// scales, d. A high bit that is not set takes 4 off.
void decode_q3_k(const std::byte* block, float* out) {
  const std::byte* quants = block + 32;
  const std::byte* scales = block + 96;
  const float all = half_at(block + 108);
  for (size_t k = 0; k < 256; ++k) {
    const float scale = all * static_cast<float>(static_cast<int>(q3_scale(scales, k / 16)) - 32);
    const size_t shift = k % 128 / 32 * 2;
    const unsigned low = byte_at(quants + k / 128 * 32 + k % 32) >> shift & 3U;
    const bool high = (byte_at(block + k % 32) >> (k / 32) & 1U) != 0;
    out[k] = scale * static_cast<float>(static_cast<int>(low) - (high ? 0 : 4));
  }
}

// d, dmin, 12 bytes of scales, 128 of codes: each 32 bytes hold 32 weights in their low halves and
// the next 32 in their high ones.
void decode_q4_k(const std::byte* block, float* out) {
  const float all = half_at(block);
  const float least = half_at(block + 2);
  const std::byte* quants = block + 16;
  for (size_t group = 0; group < 8; ++group) {
    const auto [scale, minimum] = scale_and_minimum(block + 4, group);
    const float step = all * static_cast<float>(scale);
    const float base = least * static_cast<float>(minimum);
    const std::byte* from = quants + group / 2 * 32;
    for (size_t k = 0; k < 32; ++k) {
      const unsigned code = byte_at(from + k) >> (group % 2 * 4) & 15U;
      out[group * 32 + k] = step * static_cast<float>(code) - base;
    }
  }
}

// As Q4_K, with 32 bytes of high bits (bit `group` of byte k) before the codes.
void decode_q5_k(const std::byte* block, float* out) {
  const float all = half_at(block);
  const float least = half_at(block + 2);
  const std::byte* high = block + 16;
  const std::byte* quants = block + 48;
  for (size_t group = 0; group < 8; ++group) {
    const auto [scale, minimum] = scale_and_minimum(block + 4, group);
    const float step = all * static_cast<float>(scale);
    const float base = least * static_cast<float>(minimum);
    const std::byte* from = quants + group / 2 * 32;
    for (size_t k = 0; k < 32; ++k) {
      const unsigned low = byte_at(from + k) >> (group % 2 * 4) & 15U;
      const unsigned code = low | (byte_at(high + k) >> group & 1U) << 4U;
      out[group * 32 + k] = step * static_cast<float>(code) - base;
    }
  }
}

// 128 bytes of low halves, 64 of high pairs, 16 signed scales, d. Of each 128 weights, the quarters
// 0 and 1 have the low halves of 64 bytes, 2 and 3 their high ones; quarter s has bits 2s of the
// pairs.
void decode_q6_k(const std::byte* block, float* out) {
  const std::byte* pairs = block + 128;
  const std::byte* scales = block + 192;
  const float all = half_at(block + 208);
  for (size_t k = 0; k < 256; ++k) {
    const size_t half = k / 128;
    const size_t quarter = k % 128 / 32;
    const std::byte* from = block + half * 64 + quarter % 2 * 32 + k % 32;
    const unsigned low = byte_at(from) >> (quarter / 2 * 4) & 15U;
    const unsigned high = byte_at(pairs + half * 32 + k % 32) >> (quarter * 2) & 3U;
    const float scale = all * static_cast<float>(load<int8_t>(scales + k / 16));
    out[k] = scale * static_cast<float>(static_cast<int>(low | high << 4U) - 32);
  }
}

// d, 16 bits of high pairs of scales, 4 bytes of their low halves, 128 bytes of codes.
void decode_iq4_xs(const std::byte* block, float* out) {
  const float all = half_at(block);
  const auto high = load<uint16_t>(block + 2);
  for (size_t group = 0; group < 8; ++group) {
    const unsigned low = byte_at(block + 4 + group / 2) >> (group % 2 * 4) & 15U;
    const unsigned scale = low | (static_cast<unsigned>(high) >> (group * 2) & 3U) << 4U;
    const float step = all * static_cast<float>(static_cast<int>(scale) - 32);
    decode_nibbles(block + 8 + group * 16, out + group * 32, [&](unsigned code, size_t) {
      return step * static_cast<float>(kIq4Values[code]);
    });
  }
}

using Decode = void (*)(const std::byte* block, float* out);

// In the order of the enumerators, from the first block type.
constexpr std::array<Decode, kDTypes - static_cast<size_t>(DType::kQ4_0)> kDecoders = {
    decode_q4_0, decode_q4_1, decode_q5_0, decode_q5_1,   decode_q8_0,   decode_q2_k, decode_q3_k,
    decode_q4_k, decode_q5_k, decode_q6_k, decode_iq4_nl, decode_iq4_xs, decode_mxfp4};

// Where the fp16 scales of a block lie; in the order of kDecoders. MXFP4 has none.
struct Scales {
  uint8_t first = 0;
  uint8_t count = 0;  // side by side
};
constexpr std::array<Scales, kDecoders.size()> kScales = {{{0, 1},
                                                           {0, 2},
                                                           {0, 1},
                                                           {0, 2},
                                                           {0, 1},
                                                           {80, 2},
                                                           {108, 1},
                                                           {0, 2},
                                                           {0, 2},
                                                           {208, 1},
                                                           {0, 1},
                                                           {0, 1},
                                                           {}}};

size_t block_index(DType dtype) {
  return static_cast<size_t>(dtype) - static_cast<size_t>(DType::kQ4_0);
}

bool is_finite_block(DType dtype, const std::byte* block) {
  constexpr unsigned kExponent = 0x7c00;
  const Scales scales = kScales[block_index(dtype)];
  for (size_t i = 0; i < scales.count; ++i)
    if ((load<uint16_t>(block + scales.first + 2 * i) & kExponent) == kExponent) return false;
  if (dtype != DType::kMXFP4) return true;
  constexpr unsigned kLargestSafe = 252;  // 12 · 2^(252 - 128) is a float
  if (byte_at(block) <= kLargestSafe) return true;
  std::array<float, 32> values;
  decode_mxfp4(block, values.data());
  return std::all_of(values.begin(), values.end(),
                     [](float value) { return std::isfinite(value); });
}

constexpr std::array<float, 256> e4m3_values() {
  std::array<float, 256> values{};
  for (unsigned code = 0; code < values.size(); ++code)
    values[code] = e4m3_to_float(static_cast<uint8_t>(code));
  return values;
}
// Ten times as fast as taking each code apart.
constexpr std::array<float, 256> kE4M3Values = e4m3_values();

}  // namespace

bool holds_weights(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16 ||
         dtype == DType::kF8E4M3 || is_block(dtype);
}

float mxfp4_scale(uint8_t exponent) {
  // The two smallest are subnormal.
  const uint32_t bits = exponent < 2 ? 0x00200000U << exponent : (exponent - 1U) << 23U;
  return std::bit_cast<float>(bits);
}

ScaleAndMinimum scale_and_minimum(const std::byte* scales, size_t index) {
  if (index < 4)
    return {static_cast<uint8_t>(byte_at(scales + index) & 63U),
            static_cast<uint8_t>(byte_at(scales + index + 4) & 63U)};
  const unsigned low = byte_at(scales + index + 4);
  return {static_cast<uint8_t>((low & 15U) | byte_at(scales + index - 4) >> 6U << 4U),
          static_cast<uint8_t>(low >> 4U | byte_at(scales + index) >> 6U << 4U)};
}

uint8_t q3_scale(const std::byte* scales, size_t index) {
  const unsigned low = byte_at(scales + index % 8) >> (index / 8 * 4) & 15U;
  const unsigned high = byte_at(scales + 8 + index % 4) >> (index / 4 * 2) & 3U;
  return static_cast<uint8_t>(low | high << 4U);
}

bool is_finite_row(DType dtype, std::span<const std::byte> data) {
  const size_t bytes = block_of(dtype).bytes;
  SMOE_CHECK(is_block(dtype) && data.size() % bytes == 0);
  for (size_t at = 0; at < data.size(); at += bytes)
    if (!is_finite_block(dtype, data.data() + at)) return false;
  return true;
}

void dequantize_row(DType dtype, std::span<const std::byte> data, std::span<float> out) {
  SMOE_CHECK(holds_weights(dtype) && data.size() == row_bytes(dtype, out.size()));
  const std::byte* from = data.data();
  if (is_block(dtype)) {
    const Block block = block_of(dtype);
    const Decode decode = kDecoders[block_index(dtype)];
    for (size_t k = 0; k < out.size(); k += block.weights, from += block.bytes)
      decode(from, out.data() + k);
    return;
  }
  if (dtype == DType::kF32) {
    std::memcpy(out.data(), from, data.size());
  } else if (dtype == DType::kF16) {
    for (size_t k = 0; k < out.size(); ++k) out[k] = half_at(from + k * 2);
  } else if (dtype == DType::kBF16) {
    for (size_t k = 0; k < out.size(); ++k) out[k] = bf16_to_float(load<uint16_t>(from + k * 2));
  } else {
    for (size_t k = 0; k < out.size(); ++k) out[k] = kE4M3Values[byte_at(from + k)];
  }
}

}  // namespace smoe
