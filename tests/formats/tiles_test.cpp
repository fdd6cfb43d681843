#include "formats/tiles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/floats.h"
#include "base/rng.h"
#include "base/units.h"

namespace smoe {
namespace {

using testing::HasSubstr;

std::string data_file(const std::string& name) {
  const auto text =
      read_text_file(std::string(SMOE_SOURCE_DIR) + "/tests/data/blocks/" + name, kMiB);
  EXPECT_TRUE(text) << text.error().message;
  return text.value_or("");
}

template <class T>
std::vector<T> values_of(const std::string& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

struct Matrix {
  DType dtype;
  uint32_t rows;
  uint32_t cols;
  std::vector<std::byte> data;
  std::vector<float> scales;

  RowMajor view() const { return {dtype, rows, cols, data, scales}; }
  template <class T>
  void set(uint32_t row, uint32_t col, T value) {
    std::memcpy(data.data() + (size_t{row} * cols + col) * sizeof(T), &value, sizeof value);
  }
};

// Finite codes of any kind, subnormals and both zeros included.
Matrix random_matrix(DType dtype, uint32_t rows, uint32_t cols, uint64_t seed) {
  Matrix matrix{
      dtype, rows, cols, std::vector<std::byte>(size_t{rows} * cols * bytes_of(dtype)), {}};
  Rng rng(seed);
  for (uint32_t row = 0; row < rows; ++row)
    for (uint32_t col = 0; col < cols; ++col) {
      const uint64_t bits = rng.next();
      switch (dtype) {
        case DType::kF32:
          matrix.set(row, col, static_cast<uint32_t>(bits) & 0xbfffffffU);
          break;
        case DType::kF16:
          matrix.set(row, col, static_cast<uint16_t>(bits & 0xbfffU));
          break;
        case DType::kBF16:
          matrix.set(row, col, static_cast<uint16_t>(bits & 0xbfffU));
          break;
        default:
          matrix.set(row, col, static_cast<uint8_t>(bits % 0x7f | (bits >> 32 & 0x80U)));
      }
    }
  if (dtype == DType::kF8E4M3)
    for (size_t i = 0; i < size_t{ceil_div(rows, 128U)} * ceil_div(cols, 128U); ++i)
      matrix.scales.push_back(static_cast<float>(rng.uniform() - 0.5));
  return matrix;
}

std::vector<std::byte> packed(const Matrix& matrix, Format format, uint32_t tile) {
  std::vector<std::byte> out(tile_bytes(format, matrix.cols), std::byte{0xee});
  const Status status = pack_tile(matrix.view(), format, tile, out);
  EXPECT_TRUE(status) << status.error().message;
  return out;
}

std::vector<uint32_t> bits_of(const std::vector<float>& values) {
  std::vector<uint32_t> bits(values.size());
  std::memcpy(bits.data(), values.data(), values.size() * sizeof(float));
  return bits;
}

TEST(Tiles, GiveEveryRowBackBitForBitInTheExactFormat) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kF8E4M3})
    for (const uint32_t rows : {1U, 16U, 17U, 40U})
      for (const uint32_t cols : {1U, 2U, 3U, 64U, 127U, 129U, 200U}) {
        const Matrix matrix = random_matrix(dtype, rows, cols, rows * 1000 + cols);
        const Format format = *exact_format(dtype);
        std::vector<float> wanted(cols);
        std::vector<float> found(cols);
        for (uint32_t row = 0; row < rows; ++row) {
          const auto tile = packed(matrix, format, row / kTileRows);
          read_row(matrix.view(), row, wanted);
          unpack_row(format, tile, row % kTileRows, found);
          ASSERT_EQ(bits_of(found), bits_of(wanted)) << info(format).name << " row " << row;
        }
      }
}

TEST(Tiles, HoldAnyFloatSourceAsF32) {
  for (const DType dtype : {DType::kF16, DType::kBF16, DType::kF8E4M3}) {
    const Matrix matrix = random_matrix(dtype, 20, 150, 5);
    std::vector<float> wanted(150);
    std::vector<float> found(150);
    for (uint32_t row = 0; row < 20; ++row) {
      read_row(matrix.view(), row, wanted);
      unpack_row(Format::kF32, packed(matrix, Format::kF32, row / 16), row % 16, found);
      ASSERT_EQ(bits_of(found), bits_of(wanted));
    }
  }
}

// The byte offsets that kernels and other readers rely on.
TEST(Tiles, HaveTheirBytesWhereTheFormatSays) {
  const Matrix bf16 = random_matrix(DType::kBF16, 18, 6, 1);
  const auto tile = packed(bf16, Format::kBF16, 1);
  for (uint32_t r = 0; r < 2; ++r)
    for (uint32_t k = 0; k < 6; ++k)
      EXPECT_EQ(std::memcmp(tile.data() + k / 2 * 64 + r * 4 + k % 2 * 2,
                            bf16.data.data() + ((16 + r) * 6 + k) * 2, 2),
                0);

  const Matrix f8 = random_matrix(DType::kF8E4M3, 130, 200, 2);
  const auto f8_tile = packed(f8, Format::kF8E4M3, 8);  // rows 128, 129: the second row of blocks
  for (uint32_t r = 0; r < 2; ++r)
    for (uint32_t k = 0; k < 200; ++k) {
      const std::byte* unit = f8_tile.data() + k / 128 * 2112;
      EXPECT_EQ(unit[64 + k % 128 / 4 * 64 + r * 4 + k % 4], f8.data[(128 + r) * 200 + k]);
      EXPECT_EQ(std::memcmp(unit + r * 4, &f8.scales[2 + k / 128], 4), 0);
    }
}

TEST(Tiles, AreZeroInUnusedLanesAndThePartOfAUnitThatIsMissing) {
  Matrix ones{DType::kBF16, 17, 3, std::vector<std::byte>(17 * 3 * 2, std::byte{0x3f}), {}};
  const auto tile = packed(ones, Format::kBF16, 1);
  for (size_t i = 0; i < tile.size(); ++i) {
    const bool used = i % 64 < 4 && i < 64 + 2;  // lane 0, k = 0, 1, 2
    EXPECT_EQ(tile[i], used ? std::byte{0x3f} : std::byte{0}) << i;
  }
}

// The oracle is ggml's own quantiser: docs in tests/data/blocks.
TEST(Q8, IsBitEqualToTheReference) {
  constexpr uint32_t kRows = 8;
  constexpr uint32_t kCols = 1024;
  constexpr size_t kBlockBytes = 34;  // fp16 scale, 32 int8
  const std::string rows = data_file("rows.f32");
  const std::string codes = data_file("q8_0.plain.bin");
  const auto floats = values_of<float>(data_file("q8_0.plain.f32"));
  ASSERT_EQ(rows.size(), kRows * kCols * 4);
  ASSERT_EQ(codes.size(), kRows * kCols / 32 * kBlockBytes);
  Matrix matrix{DType::kF32, kRows, kCols, values_of<std::byte>(rows), {}};
  const auto tile = packed(matrix, Format::kQ8_0, 0);
  for (uint32_t row = 0; row < kRows; ++row) {
    for (uint32_t block = 0; block < kCols / 32; ++block) {
      const char* wanted = codes.data() + (row * (kCols / 32) + block) * kBlockBytes;
      const std::byte* unit = tile.data() + block / 2 * 1088;
      const uint32_t half = block % 2;
      ASSERT_EQ(std::memcmp(unit + half * 32 + row * 2, wanted, 2), 0) << row << ' ' << block;
      for (uint32_t k = 0; k < 32; ++k)
        ASSERT_EQ(std::to_integer<uint8_t>(unit[64 + half * 512 + k / 4 * 64 + row * 4 + k % 4]),
                  static_cast<uint8_t>(wanted[2 + k]))
            << "row " << row << " column " << block * 32 + k;
    }
    std::vector<float> found(kCols);
    unpack_row(Format::kQ8_0, tile, row, found);
    ASSERT_EQ(bits_of(found),
              bits_of({floats.begin() + row * kCols, floats.begin() + (row + 1) * kCols}));
  }
}

TEST(Q8, LeavesTheSecondHalfOfALastUnitZero) {
  const Matrix matrix = random_matrix(DType::kF16, 16, 96, 9);
  const auto tile = packed(matrix, Format::kQ8_0, 0);
  ASSERT_EQ(tile.size(), 2176U);
  for (size_t i = 0; i < 1088; ++i) {
    const bool second = (i >= 32 && i < 64) || i >= 64 + 512;
    if (second) {
      ASSERT_EQ(tile[1088 + i], std::byte{0}) << i;
    }
  }
}

TEST(Q8, TakesZerosAndValuesSoSmallThatTheirScaleVanishes) {
  Matrix matrix{DType::kF32, 1, 32, std::vector<std::byte>(128), {}};
  matrix.set(0, 3, 1e-40F);  // 127 / amax is beyond the largest float
  std::vector<float> found(32);
  unpack_row(Format::kQ8_0, packed(matrix, Format::kQ8_0, 0), 0, found);
  EXPECT_EQ(found, std::vector<float>(32));
}

TEST(Q8, RoundsHalfAwayFromZero) {
  Matrix matrix{DType::kF32, 1, 32, std::vector<std::byte>(128), {}};
  const float inputs[] = {127, 0.5F, -0.5F, 1.5F, -2.5F, 0.49999997F, -126.5F, 126.49999F};
  const int wanted[] = {127, 1, -1, 2, -3, 0, -127, 126};
  for (uint32_t k = 0; k < 8; ++k) matrix.set(0, k, inputs[k]);
  std::vector<float> found(32);
  unpack_row(Format::kQ8_0, packed(matrix, Format::kQ8_0, 0), 0, found);
  for (uint32_t k = 0; k < 8; ++k) EXPECT_EQ(found[k], static_cast<float>(wanted[k])) << k;
}

Status pack(const Matrix& matrix, Format format, uint32_t tile) {
  std::vector<std::byte> out(tile_bytes(format, matrix.cols));
  return pack_tile(matrix.view(), format, tile, out);
}

// N3, traps 35.
TEST(PackTile, RefusesWeightsThatAreNoNumbersAndSaysWhere) {
  const auto refused = [](Matrix matrix, Format format, const std::string& fact) {
    const Status status = pack(matrix, format, 1);
    ASSERT_FALSE(status) << fact;
    EXPECT_EQ(status.error().code, Code::kNumeric);
    EXPECT_EQ(status.error().message, "row 17, column 40: " + fact);
  };
  const float nan = std::nanf("");
  for (const Format format : {Format::kF32, Format::kQ8_0}) {
    Matrix f32 = random_matrix(DType::kF32, 20, 64, 1);
    f32.set(17, 40, nan);
    refused(f32, format, "the weight is NaN");
    f32.set(17, 40, -INFINITY);
    refused(f32, format, "the weight is infinite");
  }
  Matrix f16 = random_matrix(DType::kF16, 20, 64, 1);
  f16.set<uint16_t>(17, 40, 0x7c00);
  refused(f16, Format::kF16, "the weight is infinite");
  Matrix bf16 = random_matrix(DType::kBF16, 20, 64, 1);
  bf16.set<uint16_t>(17, 40, 0xffc0);
  refused(bf16, Format::kBF16, "the weight is NaN");
  Matrix f8 = random_matrix(DType::kF8E4M3, 20, 64, 1);
  f8.set<uint8_t>(17, 40, 0x7f);
  refused(f8, Format::kF8E4M3, "the weight is NaN");
}

TEST(PackTile, RefusesScalesThatAreNoNumbersAndSaysWhere) {
  Matrix f8 = random_matrix(DType::kF8E4M3, 140, 300, 1);
  f8.scales[4] = INFINITY;  // second row of blocks, columns 128 to 255
  EXPECT_TRUE(pack(f8, Format::kF8E4M3, 0));
  const Status status = pack(f8, Format::kF8E4M3, 8);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "row 128, column 128: the scale of the block is infinite");

  f8.scales[4] = std::numeric_limits<float>::max();  // finite, but the product is not
  f8.set<uint8_t>(128, 130, 0x7e);
  const Status product = pack(f8, Format::kF8E4M3, 8);
  ASSERT_FALSE(product);
  EXPECT_EQ(product.error().code, Code::kNumeric);

  Matrix large{DType::kF32, 1, 32, std::vector<std::byte>(128), {}};
  large.set(0, 0, 9e6F);
  EXPECT_THAT(pack(large, Format::kQ8_0, 0).error().message, HasSubstr("too large for Q8_0"));
}

// traps 33: the number of scales must be that of the blocks, partial ones included.
TEST(PackTile, RefusesAWrongNumberOfScales) {
  Matrix f8 = random_matrix(DType::kF8E4M3, 576, 200, 1);
  EXPECT_EQ(f8.scales.size(), 10U);
  EXPECT_TRUE(pack(f8, Format::kF8E4M3, 35));
  f8.scales.pop_back();
  const Status status = pack(f8, Format::kF8E4M3, 0);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kCorrupt);
  EXPECT_THAT(status.error().message, HasSubstr("9 block scales, 10 are needed for 576 x 200"));
  f8.scales.clear();
  EXPECT_FALSE(pack(f8, Format::kF8E4M3, 0));
}

TEST(PackTile, RefusesPairsOfTypesItCannotConvert) {
  const Matrix f16 = random_matrix(DType::kF16, 1, 32, 1);
  EXPECT_EQ(pack(f16, Format::kBF16, 0).error().code, Code::kUnsupported);
  EXPECT_EQ(pack(f16, Format::kF8E4M3, 0).error().code, Code::kUnsupported);
  const Matrix odd = random_matrix(DType::kF16, 1, 40, 1);
  EXPECT_THAT(pack(odd, Format::kQ8_0, 0).error().message, HasSubstr("blocks of 32"));
  const Matrix ints{DType::kI8, 1, 32, std::vector<std::byte>(32), {}};
  EXPECT_THAT(pack(ints, Format::kQ8_0, 0).error().message, HasSubstr("cannot store I8"));
  EXPECT_EQ(exact_format(DType::kF64), std::nullopt);
  EXPECT_EQ(exact_format(DType::kF8E5M2), std::nullopt);
}

}  // namespace
}  // namespace smoe
