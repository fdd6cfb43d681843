#include "formats/block_format.h"

#include <gtest/gtest.h>

namespace smoe {
namespace {

TEST(Format, HasANameThatReadsBack) {
  for (size_t i = 0; i < kFormats; ++i) {
    const auto format = static_cast<Format>(i);
    EXPECT_EQ(format_named(info(format).name), format);
  }
  EXPECT_EQ(format_named("Q8_0"), std::nullopt);
  EXPECT_EQ(format_named(""), std::nullopt);
}

// The byte counts of docs/model-folder.md.
TEST(Format, HasTheTileSizesOfItsUnits) {
  EXPECT_EQ(tile_bytes(Format::kQ8_0, 2048), 34816U);
  EXPECT_EQ(tile_bytes(Format::kQ8_0, 768), 13056U);
  EXPECT_EQ(tile_bytes(Format::kBF16, 2048), 65536U);
  EXPECT_EQ(tile_bytes(Format::kF16, 768), 24576U);
  EXPECT_EQ(tile_bytes(Format::kF32, 768), 49152U);
  EXPECT_EQ(tile_bytes(Format::kF8E4M3, 256), 4224U);
}

// Where a unit is full, a tile has the bytes of 16 rows of blocks, and not one more.
TEST(Format, TakesNoMoreRoomThanItsBlocks) {
  for (size_t i = 0; i < kFormats; ++i) {
    const auto format = static_cast<Format>(i);
    const FormatInfo& one = info(format);
    EXPECT_EQ(one.unit_bytes % 64, 0U) << one.name;
    EXPECT_EQ(one.block_k, block_of(one.source).weights) << one.name;
    if (format == Format::kF8E4M3) continue;  // it repeats the scale of a block for every row
    EXPECT_EQ(tile_bytes(format, one.unit_k), 16 * *row_bytes(one.source, one.unit_k)) << one.name;
  }
  EXPECT_EQ(tile_bytes(Format::kMXFP4, 128), 1088U);
  EXPECT_EQ(tile_bytes(Format::kQ4_K, 256), 2304U);
  EXPECT_EQ(tile_bytes(Format::kQ6_K, 512), 6720U);
}

TEST(Format, ListsThoseThatDevicesComputeWith) {
  for (const char* name : {"f32", "f16", "bf16", "q8_0", "f8_e4m3", "q4_0", "q4_k", "mxfp4"})
    EXPECT_NE(computed_formats().find(name), std::string::npos) << name;
}

TEST(Format, RoundsPartialUnitsAndTilesUp) {
  EXPECT_EQ(tile_bytes(Format::kBF16, 3), 128U);
  EXPECT_EQ(tile_bytes(Format::kQ8_0, 96), 2176U);
  EXPECT_EQ(tile_bytes(Format::kF8E4M3, 129), 4224U);
  EXPECT_EQ(matrix_bytes(Format::kF32, 17, 5), 2U * 5 * 64);
  EXPECT_EQ(matrix_bytes(Format::kF32, 0xffffffffU, 1), uint64_t{1} << 34);
}

}  // namespace
}  // namespace smoe
