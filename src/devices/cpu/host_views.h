// Device views as host pointers; every bound is checked here, once an operation.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "base/units.h"
#include "compute/tensor.h"

namespace smoe::cpu {

inline std::byte* host_bytes(const View& view, size_t bytes) {
  SMOE_CHECK(view.buffer != nullptr);
  const std::span<std::byte> host = view.buffer->host();
  SMOE_CHECK(view.offset <= host.size() && bytes <= host.size() - view.offset);
  return host.data() + view.offset;
}

inline float* host_floats(const View& view, size_t floats) {
  SMOE_CHECK(view.offset % sizeof(float) == 0);
  return reinterpret_cast<float*>(host_bytes(view, floats * sizeof(float)));
}

struct HostRows {
  float* data = nullptr;
  uint32_t count = 0;
  uint32_t width = 0;
  size_t stride = 0;

  explicit HostRows(const Rows& rows) : count(rows.count), width(rows.width), stride(rows.stride) {
    SMOE_CHECK(width <= stride);
    if (count > 0) data = host_floats(rows.view, (count - 1) * stride + width);
  }
  float* row(size_t index) const {
    SMOE_DCHECK(index < count);
    return data + index * stride;
  }
};

struct HostMatrix {
  const std::byte* tiles = nullptr;
  Format format = Format::kF32;
  uint32_t rows = 0;
  uint32_t cols = 0;
  uint64_t tile_stride = 0;
  uint32_t tile_count = 0;

  explicit HostMatrix(const Matrix& matrix)
      : format(matrix.format),
        rows(matrix.rows),
        cols(matrix.cols),
        tile_stride(matrix.tile_stride),
        tile_count(ceil_div(matrix.rows, kTileRows)) {
    const uint64_t tile = tile_bytes(format, cols);
    SMOE_CHECK(rows > 0 && cols % info(format).block_k == 0);
    SMOE_CHECK(tile_stride >= tile);
    tiles = host_bytes(matrix.view, (tile_count - 1) * tile_stride + tile);
  }
};

}  // namespace smoe::cpu
