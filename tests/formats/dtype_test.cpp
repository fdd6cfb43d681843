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

TEST(DType, HasNoOtherNames) {
  for (const char* name : {"", "bf16", "F4", "F8", "I4", "F32 "})
    EXPECT_EQ(dtype_named(name), std::nullopt) << name;
}

}  // namespace
}  // namespace smoe
