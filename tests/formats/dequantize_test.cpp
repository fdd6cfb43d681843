// Rows as floats, to the bits of ggml's own decoding.
#include "formats/dequantize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/checksum.h"
#include "base/floats.h"
#include "formats/blocks.h"

namespace smoe {
namespace {

struct Vectors {
  DType dtype;
  const char* file;
  const char* checksum;  // of the rows that ggml decodes
};

constexpr Vectors kVectors[] = {
    {DType::kQ4_0, "q4_0.plain.bin", "4014618ca93b7c5d"},
    {DType::kQ4_0, "q4_0.importance.bin", "d3d1573887710be5"},
    {DType::kQ4_1, "q4_1.plain.bin", "5228c16628b24f44"},
    {DType::kQ5_0, "q5_0.plain.bin", "1525c33b47423935"},
    {DType::kQ5_1, "q5_1.plain.bin", "6ab4aa7236e04003"},
    {DType::kQ8_0, "q8_0.plain.bin", "9c6fb738c9a56fb8"},
    {DType::kQ2_K, "q2_K.plain.bin", "c570b049405f0fc6"},
    {DType::kQ3_K, "q3_K.plain.bin", "d3f7883ce8c20813"},
    {DType::kQ3_K, "q3_K.importance.bin", "b0e6e7b2d7be0bec"},
    {DType::kQ4_K, "q4_K.plain.bin", "d7e4227fbbebb69b"},
    {DType::kQ4_K, "q4_K.importance.bin", "ad1c4fb542ed6bb9"},
    {DType::kQ5_K, "q5_K.plain.bin", "76e81a110e73f2fb"},
    {DType::kQ5_K, "q5_K.importance.bin", "a928c9b2faa470a5"},
    {DType::kQ6_K, "q6_K.plain.bin", "7e3b7e0ea743c0a8"},
    {DType::kQ6_K, "q6_K.importance.bin", "648bcb8e6c3af57b"},
    {DType::kIQ4_NL, "iq4_nl.plain.bin", "a05cc78d295a98db"},
    {DType::kIQ4_NL, "iq4_nl.importance.bin", "42cf22ec75339ddb"},
    {DType::kIQ4_XS, "iq4_xs.plain.bin", "092e448b9070e2af"},
    {DType::kMXFP4, "mxfp4.plain.bin", "93c1629c5ddf26a4"},
};

TEST(Dequantize, EqualsGgmlToTheBit) {
  for (const Vectors& vectors : kVectors) {
    const std::string bytes = test::block_file(vectors.file);
    const std::vector<float> rows = test::decoded(vectors.dtype, std::as_bytes(std::span(bytes)));
    EXPECT_EQ(checksum_text(xxh3_64(std::as_bytes(std::span(rows)))), vectors.checksum)
        << vectors.file;
  }
}

TEST(Dequantize, ReadsEveryElementTypeOfWeights) {
  const std::vector<float> wanted = {1, -2.5F, 0, 448};
  const auto decoded = [&](DType dtype, auto code_of) {
    std::vector<decltype(code_of(0.0F))> codes;
    for (const float value : wanted) codes.push_back(code_of(value));
    std::vector<float> out(wanted.size());
    dequantize_row(dtype, std::as_bytes(std::span(codes)), out);
    return out;
  };
  EXPECT_EQ(decoded(DType::kF32, [](float value) { return value; }), wanted);
  EXPECT_EQ(decoded(DType::kF16, [](float value) { return float_to_f16(value); }), wanted);
  EXPECT_EQ(decoded(DType::kBF16, [](float value) { return float_to_bf16(value); }), wanted);
  EXPECT_EQ(decoded(DType::kF8E4M3,
                    [](float value) {
                      uint8_t code = 0;
                      while (e4m3_to_float(code) != value) ++code;
                      return code;
                    }),
            wanted);
}

TEST(Dequantize, KnowsWhichTypesHoldWeights) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kF8E4M3, DType::kQ4_0,
                            DType::kQ6_K, DType::kMXFP4})
    EXPECT_TRUE(holds_weights(dtype)) << name_of(dtype);
  for (const DType dtype : {DType::kI32, DType::kF64, DType::kF8E8M0, DType::kBool, DType::kU8})
    EXPECT_FALSE(holds_weights(dtype)) << name_of(dtype);
}

TEST(Dequantize, HandsOnScalesThatAreNoNumbers) {
  std::vector<std::byte> block(18);
  block[1] = std::byte{0x7e};  // fp16 NaN
  std::vector<float> out(32);
  dequantize_row(DType::kQ4_0, block, out);
  EXPECT_TRUE(std::isnan(out[0]));
  EXPECT_TRUE(std::isnan(out[31]));
}

// A NaN or an infinity in each scale of a block is seen, and nothing else is taken for one.
TEST(Dequantize, FindsScalesThatAreNoNumbers) {
  struct Scale {
    DType dtype;
    std::vector<size_t> at;
  };
  const Scale scales[] = {{DType::kQ4_0, {0}},    {DType::kQ4_1, {0, 2}}, {DType::kQ5_0, {0}},
                          {DType::kQ5_1, {0, 2}}, {DType::kQ8_0, {0}},    {DType::kQ2_K, {80, 82}},
                          {DType::kQ3_K, {108}},  {DType::kQ4_K, {0, 2}}, {DType::kQ5_K, {0, 2}},
                          {DType::kQ6_K, {208}},  {DType::kIQ4_NL, {0}},  {DType::kIQ4_XS, {0}}};
  for (const Scale& scale : scales) {
    const Block block = block_of(scale.dtype);
    for (size_t byte = 1; byte < block.bytes; ++byte) {
      std::vector<std::byte> row(2 * block.bytes, std::byte{0x01});
      row[block.bytes + byte] = std::byte{0xfc};
      const bool in_scale =
          std::any_of(scale.at.begin(), scale.at.end(), [&](size_t at) { return byte == at + 1; });
      EXPECT_EQ(is_finite_row(scale.dtype, row), !in_scale)
          << name_of(scale.dtype) << " byte " << byte;
    }
  }
}

TEST(Dequantize, FindsBlocksOfMxfp4ThatPassTheLargestFloat) {
  std::vector<std::byte> row(17);
  for (const auto& [exponent, code, finite] : {std::tuple{255, 0x00, true},
                                               {255, 0x01, true},
                                               {255, 0x02, false},
                                               {252, 0x77, true},
                                               {253, 0x77, false},
                                               {253, 0x55, true},
                                               {254, 0x70, false}}) {
    row[0] = static_cast<std::byte>(exponent);
    row[3] = static_cast<std::byte>(code);
    EXPECT_EQ(is_finite_row(DType::kMXFP4, row), finite) << exponent << ' ' << code;
  }
}

TEST(Dequantize, KnowsTheSmallestAndLargestScaleOfMxfp4) {
  EXPECT_EQ(mxfp4_scale(0), 0x1p-128F);
  EXPECT_EQ(mxfp4_scale(1), 0x1p-127F);
  EXPECT_EQ(mxfp4_scale(2), 0x1p-126F);
  EXPECT_EQ(mxfp4_scale(128), 1.0F);
  EXPECT_EQ(mxfp4_scale(255), 0x1p127F);
}

}  // namespace
}  // namespace smoe
