// Blocks in tiles: every byte of a row comes back, and the offsets are those of
// docs/block-formats.md.
#include "formats/block_tiles.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "base/rng.h"
#include "formats/blocks.h"
#include "formats/quantize.h"
#include "formats/tiles.h"

namespace smoe {
namespace {

std::vector<Format> block_formats() {
  std::vector<Format> formats;
  for (size_t i = 0; i < kFormats; ++i)
    if (is_block_format(static_cast<Format>(i))) formats.push_back(static_cast<Format>(i));
  return formats;
}

// Rows of random bytes: as good as any for a transposition.
std::vector<std::byte> random_rows(DType dtype, uint32_t rows, uint32_t cols) {
  Rng rng(rows + cols);
  std::vector<std::byte> bytes(rows * *row_bytes(dtype, cols));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(rng.below(256));
  return bytes;
}

TEST(BlockTiles, ExistForEveryBlockType) {
  EXPECT_EQ(block_formats().size(), 13U);
  for (const Format format : block_formats()) EXPECT_TRUE(is_block(info(format).source));
}

TEST(BlockTiles, HoldEveryByteOfEveryRow) {
  for (const Format format : block_formats())
    for (const uint32_t blocks : {1U, 2U, 3U, 5U}) {
      const DType dtype = info(format).source;
      const uint32_t cols = blocks * block_of(dtype).weights;
      const size_t stride = *row_bytes(dtype, cols);
      const auto rows = random_rows(dtype, 16, cols);
      std::vector<std::byte> tile(tile_bytes(format, cols));
      for (uint32_t lane = 0; lane < 16; ++lane)
        pack_block_row(format, std::span(rows).subspan(lane * stride, stride), lane, tile);
      std::vector<std::byte> block(block_of(dtype).bytes);
      for (uint32_t lane = 0; lane < 16; ++lane)
        for (uint32_t index = 0; index < blocks; ++index) {
          unpack_block(format, tile, lane, index, block);
          ASSERT_EQ(std::memcmp(block.data(), rows.data() + lane * stride + index * block.size(),
                                block.size()),
                    0)
              << info(format).name << " lane " << lane << " block " << index;
        }
    }
}

struct Place {
  Format format;
  size_t block;  // of the row
  size_t byte;   // of the block
  size_t lane;
  size_t tile_byte;  // where it lies
};

// Worked out by hand from the table in docs/block-formats.md.
constexpr Place kPlaces[] = {
    {Format::kQ8_0, 1, 1, 5, 32 + 10 + 1},  // scale of the second half
    {Format::kQ8_0, 3, 2 + 9, 2, 1088 + 64 + 512 + 2 * 64 + 8 + 1},
    {Format::kQ4_0, 1, 2 + 6, 15, 64 + 256 + 64 + 60 + 2},
    {Format::kQ4_1, 2, 3, 1, 2 * 320 + 4 + 3},  // minimum
    {Format::kQ5_0, 0, 2 + 1, 4, 64 + 16 + 1},  // high bits
    {Format::kQ5_0, 1, 6 + 15, 0, 64 + 320 + 64 + 3 * 64 + 3},
    {Format::kQ5_1, 1, 8, 3, 384 + 64 + 64 + 12},
    {Format::kQ2_K, 0, 80, 7, 28},  // d
    {Format::kQ2_K, 0, 16 + 63, 0, 64 + 4 * 64 + 15 * 64 + 3},
    {Format::kQ3_K, 1, 96, 1, 64 + 27 * 64 + 4},  // first scales
    {Format::kQ3_K, 0, 108, 3, 6},                // d
    {Format::kQ4_K, 0, 4 + 11, 2, 64 + 2 * 64 + 8 + 3},
    {Format::kQ4_K, 1, 16, 9, 2304 + 64 + 3 * 64 + 36},
    {Format::kQ5_K, 0, 48 + 127, 15, 64 + 11 * 64 + 31 * 64 + 60 + 3},
    {Format::kQ6_K, 1, 209, 6, 32 + 12 + 1},  // d of the second block
    {Format::kQ6_K, 1, 128 + 4, 6, 64 + 52 * 64 + 4 * 64 + 32 * 64 + 64 + 24},
    {Format::kIQ4_NL, 0, 2, 8, 64 + 32},
    {Format::kIQ4_XS, 0, 2, 8, 32 + 2},  // high pairs of scales
    {Format::kIQ4_XS, 0, 8, 8, 64 + 64 + 32},
    {Format::kMXFP4, 3, 0, 11, 3 * 16 + 11},
    {Format::kMXFP4, 2, 1 + 5, 11, 64 + 2 * 256 + 64 + 44 + 1},
};

TEST(BlockTiles, LieAsDocumented) {
  for (const Place& place : kPlaces) {
    const DType dtype = info(place.format).source;
    const Block block = block_of(dtype);
    const size_t cols = (place.block + 1) * block.weights;
    std::vector<std::byte> row(*row_bytes(dtype, cols));
    row[place.block * block.bytes + place.byte] = std::byte{0xa5};
    std::vector<std::byte> tile(tile_bytes(place.format, cols));
    pack_block_row(place.format, row, static_cast<uint32_t>(place.lane), tile);
    for (size_t at = 0; at < tile.size(); ++at)
      ASSERT_EQ(tile[at], at == place.tile_byte ? std::byte{0xa5} : std::byte{0})
          << info(place.format).name << " byte " << place.byte << " found at " << at;
  }
}

TEST(BlockTiles, DecodeToWhatTheRowsDecodeTo) {
  for (const auto& [format, name] : {std::pair{Format::kQ4_0, "q4_0"},
                                     {Format::kQ4_1, "q4_1"},
                                     {Format::kQ5_0, "q5_0"},
                                     {Format::kQ5_1, "q5_1"},
                                     {Format::kQ8_0, "q8_0"},
                                     {Format::kQ2_K, "q2_K"},
                                     {Format::kQ3_K, "q3_K"},
                                     {Format::kQ4_K, "q4_K"},
                                     {Format::kQ5_K, "q5_K"},
                                     {Format::kQ6_K, "q6_K"},
                                     {Format::kIQ4_NL, "iq4_nl"},
                                     {Format::kIQ4_XS, "iq4_xs"},
                                     {Format::kMXFP4, "mxfp4"}}) {
    const std::string bytes = test::block_file(std::string(name) + ".plain.bin");
    const auto data = std::as_bytes(std::span(bytes));
    const RowMajor source = {.dtype = info(format).source,
                             .rows = test::kBlockRows,
                             .cols = test::kBlockCols,
                             .data = data,
                             .scales = {}};
    std::vector<std::byte> tile(tile_bytes(format, source.cols));
    const Status status = pack_tile(source, format, 0, tile);
    ASSERT_TRUE(status) << name << ": " << status.error().message;
    const std::vector<float> wanted = test::decoded(source.dtype, data);
    std::vector<float> found(test::kBlockCols);
    for (uint32_t row = 0; row < test::kBlockRows; ++row) {
      unpack_row(format, tile, row, found);
      ASSERT_EQ(std::memcmp(found.data(), wanted.data() + row * found.size(),
                            found.size() * sizeof(float)),
                0)
          << name << " row " << row;
    }
  }
}

TEST(BlockTiles, RefuseScalesThatAreNoNumbers) {
  std::vector<std::byte> rows(16 * 18);
  rows[3 * 18 + 1] = std::byte{0x7c};  // fp16 infinity
  const RowMajor source = {
      .dtype = DType::kQ4_0, .rows = 16, .cols = 32, .data = rows, .scales = {}};
  std::vector<std::byte> tile(tile_bytes(Format::kQ4_0, 32));
  const Status status = pack_tile(source, Format::kQ4_0, 0, tile);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kNumeric);
  EXPECT_EQ(status.error().message.find("row 3, column 0: the weight is "), 0U)
      << status.error().message;
}

TEST(BlockTiles, TakeFloatsByTheirImportance) {
  const std::vector<float> rows = test::floats_in("rows.f32");
  const std::vector<float> importance = test::floats_in("importance.f32");
  const RowMajor source = {.dtype = DType::kF32,
                           .rows = test::kBlockRows,
                           .cols = test::kBlockCols,
                           .data = std::as_bytes(std::span(rows)),
                           .scales = {},
                           .importance = importance};
  std::vector<std::byte> tile(tile_bytes(Format::kQ4_K, source.cols));
  ASSERT_TRUE(pack_tile(source, Format::kQ4_K, 0, tile));
  std::vector<float> found(test::kBlockCols);
  std::vector<float> wanted(test::kBlockCols);
  std::vector<std::byte> blocks(*row_bytes(DType::kQ4_K, source.cols));
  for (uint32_t row = 0; row < test::kBlockRows; ++row) {
    const auto weights = std::span(rows).subspan(row * test::kBlockCols, test::kBlockCols);
    ASSERT_TRUE(quantize_row(DType::kQ4_K, weights, importance, blocks));
    dequantize_row(DType::kQ4_K, blocks, wanted);
    unpack_row(Format::kQ4_K, tile, row, found);
    EXPECT_EQ(found, wanted) << row;
  }
}

TEST(BlockTiles, AreNeverQuantisedTwice) {
  const std::vector<std::byte> rows(16 * 18);
  const RowMajor source = {
      .dtype = DType::kQ4_0, .rows = 16, .cols = 32, .data = rows, .scales = {}};
  std::vector<std::byte> tile(tile_bytes(Format::kQ8_0, 32));
  const Status status = pack_tile(source, Format::kQ8_0, 0, tile);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "cannot store Q4_0 weights as q8_0");
}

}  // namespace
}  // namespace smoe
