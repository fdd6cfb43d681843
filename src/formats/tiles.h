// Rows as a checkpoint holds them, into tiles and back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "formats/block_format.h"
#include "formats/dtype.h"

namespace smoe {

// A matrix in a checkpoint: row-major, [rows, cols]. `scales` belongs to F8E4M3 only: one f32 for
// each 128x128 block, [ceil(rows/128), ceil(cols/128)].
struct RowMajor {
  DType dtype;
  uint32_t rows;
  uint32_t cols;
  std::span<const std::byte> data;
  std::span<const float> scales;
  // How much an error in each column counts where the rows are quantised (formats/quantize.h).
  std::span<const float> importance = {};
};

// The format that keeps every bit of a source type: F32, F16, BF16, F8E4M3, blocks. Nothing for
// others.
std::optional<Format> exact_format(DType dtype);

// Writes tile `tile` (rows 16*tile .. +16) to `out` (tile_bytes long). The target is either the
// exact format of the source, F32, or from a source that is no block one that quantize_row makes:
// nothing is quantised twice. Fails:
// kNumeric when a weight or a scale is NaN or infinite (naming row and column); kUnsupported for
// another pair of types.
Status pack_tile(const RowMajor& source, Format target, uint32_t tile, std::span<std::byte> out);

// One row of a tile as floats: `lane` = row % 16.
void unpack_row(Format format, std::span<const std::byte> tile, uint32_t lane,
                std::span<float> out);

// One row of a source matrix as floats (scales applied).
void read_row(const RowMajor& source, uint32_t row, std::span<float> out);

}  // namespace smoe
