// The reference vectors of the block formats (tests/data/blocks/README.md).
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "formats/dequantize.h"

namespace smoe::test {

inline constexpr size_t kBlockRows = 8;
inline constexpr size_t kBlockCols = 1024;

inline std::string block_file(const std::string& name) {
  std::ifstream in(std::string(SMOE_SOURCE_DIR) + "/tests/data/blocks/" + name, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  EXPECT_FALSE(bytes.empty()) << name;
  return bytes;
}

inline std::vector<float> floats_in(const std::string& name) {
  const std::string bytes = block_file(name);
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

// All rows of a reference file, decoded.
inline std::vector<float> decoded(DType dtype, std::span<const std::byte> bytes) {
  std::vector<float> values(kBlockRows * kBlockCols);
  const size_t stride = bytes.size() / kBlockRows;
  for (size_t row = 0; row < kBlockRows; ++row)
    dequantize_row(dtype, bytes.subspan(row * stride, stride),
                   std::span(values).subspan(row * kBlockCols, kBlockCols));
  return values;
}

}  // namespace smoe::test
