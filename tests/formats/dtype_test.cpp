#include "formats/dtype.h"

#include <gtest/gtest.h>

namespace smoe {
namespace {

TEST(DType, HasANameThatReadsBackAndASize) {
  size_t bytes = 0;
  for (unsigned i = 0; i <= static_cast<unsigned>(DType::kU64); ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(dtype_named(name_of(dtype)), dtype);
    EXPECT_GE(bytes_of(dtype), bytes);  // the enumerators ascend by size
    bytes = bytes_of(dtype);
  }
  EXPECT_EQ(name_of(DType::kF8E4M3), "F8_E4M3");
  EXPECT_EQ(bytes_of(DType::kF8E4M3), 1U);
  EXPECT_EQ(bytes_of(DType::kBF16), 2U);
  EXPECT_EQ(bytes_of(DType::kF32), 4U);
  EXPECT_EQ(bytes_of(DType::kF64), 8U);
}

TEST(DType, CountsTheBytesOfARow) {
  EXPECT_EQ(row_bytes(DType::kBF16, 5), 10U);
  EXPECT_EQ(row_bytes(DType::kQ8_0, 64), 68U);
  EXPECT_EQ(row_bytes(DType::kQ6_K, 512), 420U);
  EXPECT_EQ(row_bytes(DType::kMXFP4, 32), 17U);
  EXPECT_EQ(row_bytes(DType::kQ8_0, 33), std::nullopt);
  EXPECT_EQ(row_bytes(DType::kQ4_K, 128), std::nullopt);
  EXPECT_EQ(row_bytes(DType::kF32, uint64_t{1} << 62), std::nullopt);
}

TEST(DType, KnowsBlocksFromElements) {
  for (unsigned i = 0; i < kDTypes; ++i)
    EXPECT_EQ(is_block(static_cast<DType>(i)), i > static_cast<unsigned>(DType::kU64)) << i;
}

TEST(DType, HasNoOtherNames) {
  for (const char* name : {"", "bf16", "F4", "F8", "I4", "F32 ", "Q8_0", "Q4_K"})
    EXPECT_EQ(dtype_named(name), std::nullopt) << name;
}

}  // namespace
}  // namespace smoe
