// Rows of a checkpoint, in any type that holds weights, as floats. Blocks are decoded to the very
// bits that ggml decodes them to. Layouts: docs/block-formats.md, and ggml-common.h and
// ggml-quants.c of https://github.com/ggml-org/ggml.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "formats/dtype.h"

namespace smoe {

// Whether weights can be of this type: F32, F16, BF16, F8_E4M3 (without its scales), and blocks.
bool holds_weights(DType dtype);

// Shapes: `data` is row_bytes(dtype, out.size()) long; the dtype holds weights.
void dequantize_row(DType dtype, std::span<const std::byte> data, std::span<float> out);

// Whether no weight of a row of blocks is NaN or infinite. Cost: a few bytes of each block are
// looked at, since only its scales can spoil it.
bool is_finite_row(DType dtype, std::span<const std::byte> data);

// The 16 values of IQ4_NL and IQ4_XS, and of MXFP4 (twice OCP's E2M1: the scale is halved).
inline constexpr std::array<int8_t, 16> kIq4Values = {-127, -104, -83, -65, -49, -35, -22, -10,
                                                      1,    13,   25,  38,  53,  69,  89,  113};
inline constexpr std::array<int8_t, 16> kMxfp4Values = {0, 1,  2,  3,  4,  6,  8,  12,
                                                        0, -1, -2, -3, -4, -6, -8, -12};
// 2^(exponent - 128): the scale of an MXFP4 block in front of kMxfp4Values.
float mxfp4_scale(uint8_t exponent);

// Scale and minimum `index` (0 to 7) of a Q4_K or Q5_K block, 6 bits each, from its 12 bytes.
struct ScaleAndMinimum {
  uint8_t scale;
  uint8_t minimum;
};
ScaleAndMinimum scale_and_minimum(const std::byte* scales, size_t index);
// Scale `index` (0 to 15) of a Q3_K block, 6 bits, 32 standing for 0, from its 12 bytes.
uint8_t q3_scale(const std::byte* scales, size_t index);

}  // namespace smoe
