// How the weights of a matrix are encoded, and the 16-row tiles in which they lie.
//
// Row n of a matrix is lane n % 16 of tile n / 16. A tile is a sequence of units; a unit covers a
// few consecutive k of all 16 rows and holds first the scales, then the quants, four bytes of k per
// row and 64-byte vector. Unused lanes and the missing part of a last unit are zero.
// docs/model-folder.md has the byte offsets of each format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "formats/dtype.h"

namespace smoe {

inline constexpr uint32_t kTileRows = 16;

enum class Format : uint8_t {
  kF32,   // unit: 1 k, 64 B:  r*4
  kF16,   // unit: 2 k, 64 B:  r*4 + i*2, k = 2j + i
  kBF16,  // as F16
  // unit: 64 k, 1088 B: e*32 + r*2 fp16 scale; 64 + e*512 + g*64 + r*4 + i int8, k = 32e+4g+i
  kQ8_0,    // NOLINT(readability-identifier-naming): ggml's name
  kF8E4M3,  // unit: 128 k, 2112 B: r*4 f32 scale; 64 + g*64 + r*4 + i e4m3, k = 4g + i, g 0..31
  // ggml's blocks, their bytes four by four (formats/block_tiles.h)
  // NOLINTBEGIN(readability-identifier-naming): ggml's names
  kQ4_0,
  kQ4_1,
  kQ5_0,
  kQ5_1,
  kQ2_K,
  kQ3_K,
  kQ4_K,
  kQ5_K,
  kQ6_K,
  kIQ4_NL,
  kIQ4_XS,
  kMXFP4,
  // NOLINTEND(readability-identifier-naming)
};
inline constexpr size_t kFormats = 17;

struct FormatInfo {
  std::string_view name;  // as metadata, --help and errors spell it: "f32", "q8_0", "f8_e4m3"
  uint32_t unit_k;        // inner positions a unit covers
  uint32_t unit_bytes;    // of 16 rows
  uint32_t block_k;       // a row's length must be a multiple of this
  // Whether devices multiply by it. No model folder has a format that they do not.
  bool computed;
  DType source;  // the type of a checkpoint that it holds bit for bit
};

const FormatInfo& info(Format format);
// Computed or not.
std::optional<Format> format_named(std::string_view name);
// "f32, f16, …": the computed ones, for messages.
std::string computed_formats();

// Bytes of one tile: 16 rows of `cols` weights.
uint64_t tile_bytes(Format format, uint64_t cols);
// Bytes of a whole matrix stored as consecutive tiles.
uint64_t matrix_bytes(Format format, uint64_t rows, uint64_t cols);

}  // namespace smoe
