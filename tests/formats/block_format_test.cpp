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

TEST(Format, RoundsPartialUnitsAndTilesUp) {
  EXPECT_EQ(tile_bytes(Format::kBF16, 3), 128U);
  EXPECT_EQ(tile_bytes(Format::kQ8_0, 96), 2176U);
  EXPECT_EQ(tile_bytes(Format::kF8E4M3, 129), 4224U);
  EXPECT_EQ(matrix_bytes(Format::kF32, 17, 5), 2U * 5 * 64);
  EXPECT_EQ(matrix_bytes(Format::kF32, 0xffffffffU, 1), uint64_t{1} << 34);
}

}  // namespace
}  // namespace smoe
