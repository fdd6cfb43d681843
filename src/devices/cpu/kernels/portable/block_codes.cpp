#include "devices/cpu/kernels/portable/block_codes.h"

#include <array>
#include <cstring>

#include "base/check.h"
#include "base/floats.h"
#include "base/unaligned.h"
#include "formats/dequantize.h"

namespace smoe::cpu::portable {
namespace {

unsigned byte_at(const std::byte* from) { return std::to_integer<unsigned>(*from); }

float half_at(const std::byte* from) { return f16_to_float(load<uint16_t>(from)); }

int8_t code_of(unsigned code, int offset) {
  return static_cast<int8_t>(static_cast<int>(code) - offset);
}

// Weight k of 32 whose nibbles lie as in Q4_0.
unsigned nibble_of(const std::byte* nibbles, size_t k) {
  return byte_at(nibbles + k % 16) >> (k / 16 * 4) & 15U;
}

// Q4_0, Q4_1, Q5_0, Q5_1: a scale, perhaps a minimum, perhaps a fifth bit of each weight, nibbles.
void decode_32(const std::byte* block, bool minimum, bool fifth, BlockCodes& out) {
  out.part_k = 32;
  out.has_bases = minimum;
  out.steps[0] = half_at(block);
  if (minimum) out.bases[0] = half_at(block + 2);
  const std::byte* rest = block + (minimum ? 4 : 2);
  const uint32_t high = fifth ? load<uint32_t>(rest) : 0;
  const std::byte* nibbles = rest + (fifth ? 4 : 0);
  const int offset = minimum ? 0 : fifth ? 16 : 8;
  for (size_t k = 0; k < 32; ++k)
    out.codes[k] = code_of(nibble_of(nibbles, k) | (high >> k & 1U) << 4U, offset);
}

void decode_q8_0(const std::byte* block, BlockCodes& out) {
  out.part_k = 32;
  out.has_bases = false;
  out.steps[0] = half_at(block);
  std::memcpy(out.codes, block + 2, 32);
}

void decode_levels(const std::byte* nibbles, const std::array<int8_t, 16>& levels, int8_t* codes) {
  for (size_t k = 0; k < 32; ++k) codes[k] = levels[nibble_of(nibbles, k)];
}

void decode_iq4_nl(const std::byte* block, BlockCodes& out) {
  out.part_k = 32;
  out.has_bases = false;
  out.steps[0] = half_at(block);
  decode_levels(block + 2, kIq4Values, out.codes);
}

void decode_mxfp4(const std::byte* block, BlockCodes& out) {
  out.part_k = 32;
  out.has_bases = false;
  out.steps[0] = mxfp4_scale(load<uint8_t>(block));
  decode_levels(block + 1, kMxfp4Values, out.codes);
}

void decode_iq4_xs(const std::byte* block, BlockCodes& out) {
  out.part_k = 32;
  out.has_bases = false;
  const float all = half_at(block);
  const unsigned high = load<uint16_t>(block + 2);
  for (size_t part = 0; part < 8; ++part) {
    const unsigned low = byte_at(block + 4 + part / 2) >> (part % 2 * 4) & 15U;
    const unsigned scale = low | (high >> (part * 2) & 3U) << 4U;
    out.steps[part] = all * static_cast<float>(static_cast<int>(scale) - 32);
    decode_levels(block + 8 + part * 16, kIq4Values, out.codes + part * 32);
  }
}

// Of Q2_K and Q3_K.
unsigned pair_of(const std::byte* pairs, size_t k) {
  return byte_at(pairs + k / 128 * 32 + k % 32) >> (k % 128 / 32 * 2) & 3U;
}

void decode_q2_k(const std::byte* block, BlockCodes& out) {
  out.part_k = 16;
  out.has_bases = true;
  for (size_t part = 0; part < 16; ++part) {
    const unsigned both = byte_at(block + part);
    out.steps[part] = half_at(block + 80) * static_cast<float>(both & 15U);
    out.bases[part] = -half_at(block + 82) * static_cast<float>(both >> 4U);
  }
  for (size_t k = 0; k < 256; ++k) out.codes[k] = code_of(pair_of(block + 16, k), 0);
}

void decode_q3_k(const std::byte* block, BlockCodes& out) {
  out.part_k = 16;
  out.has_bases = false;
  for (size_t part = 0; part < 16; ++part) {
    const int scale = static_cast<int>(q3_scale(block + 96, part)) - 32;
    out.steps[part] = half_at(block + 108) * static_cast<float>(scale);
  }
  for (size_t k = 0; k < 256; ++k) {
    const unsigned high = byte_at(block + k % 32) >> (k / 32) & 1U;
    out.codes[k] = code_of(pair_of(block + 32, k) | high << 2U, 4);
  }
}

// Q4_K, and Q5_K with a fifth bit of each weight.
void decode_q45_k(const std::byte* block, bool fifth, BlockCodes& out) {
  out.part_k = 32;
  out.has_bases = true;
  for (size_t part = 0; part < 8; ++part) {
    const auto [scale, minimum] = scale_and_minimum(block + 4, part);
    out.steps[part] = half_at(block) * static_cast<float>(scale);
    out.bases[part] = -half_at(block + 2) * static_cast<float>(minimum);
  }
  const std::byte* nibbles = block + (fifth ? 48 : 16);
  for (size_t k = 0; k < 256; ++k) {
    const unsigned low = byte_at(nibbles + k / 64 * 32 + k % 32) >> (k / 32 % 2 * 4) & 15U;
    const unsigned high = fifth ? byte_at(block + 16 + k % 32) >> (k / 32) & 1U : 0;
    out.codes[k] = code_of(low | high << 4U, 0);
  }
}

void decode_q6_k(const std::byte* block, BlockCodes& out) {
  out.part_k = 16;
  out.has_bases = false;
  for (size_t part = 0; part < 16; ++part)
    out.steps[part] = half_at(block + 208) * static_cast<float>(load<int8_t>(block + 192 + part));
  for (size_t k = 0; k < 256; ++k) {
    const size_t half = k / 128;
    const size_t quarter = k % 128 / 32;
    const std::byte* from = block + half * 64 + quarter % 2 * 32 + k % 32;
    const unsigned low = byte_at(from) >> (quarter / 2 * 4) & 15U;
    const unsigned high = byte_at(block + 128 + half * 32 + k % 32) >> (quarter * 2) & 3U;
    out.codes[k] = code_of(low | high << 4U, 32);
  }
}

}  // namespace

void decode_block(Format format, const std::byte* block, BlockCodes& out) {
  switch (format) {
    case Format::kQ8_0:
      return decode_q8_0(block, out);
    case Format::kQ4_0:
      return decode_32(block, false, false, out);
    case Format::kQ4_1:
      return decode_32(block, true, false, out);
    case Format::kQ5_0:
      return decode_32(block, false, true, out);
    case Format::kQ5_1:
      return decode_32(block, true, true, out);
    case Format::kQ2_K:
      return decode_q2_k(block, out);
    case Format::kQ3_K:
      return decode_q3_k(block, out);
    case Format::kQ4_K:
      return decode_q45_k(block, false, out);
    case Format::kQ5_K:
      return decode_q45_k(block, true, out);
    case Format::kQ6_K:
      return decode_q6_k(block, out);
    case Format::kIQ4_NL:
      return decode_iq4_nl(block, out);
    case Format::kIQ4_XS:
      return decode_iq4_xs(block, out);
    case Format::kMXFP4:
      return decode_mxfp4(block, out);
    default:
      SMOE_CHECK(false);  // no blocks
  }
}

}  // namespace smoe::cpu::portable
