// A device with its threads, and the values that tests put into it.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/floats.h"
#include "base/rng.h"
#include "base/thread_pool.h"
#include "base/units.h"
#include "devices/cpu/cpu_device.h"
#include "formats/tiles.h"

namespace smoe::test {

inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
inline constexpr float kInf = std::numeric_limits<float>::infinity();

struct Rig {
  ThreadPool pool;
  std::unique_ptr<Device> device;

  explicit Rig(CpuKernels kernels, unsigned threads = 1, Device::Limits limits = {600, 2048, 4096},
               Activations activations = Activations::kF32)
      : pool(threads) {
    auto made = make_cpu_device(pool, kernels, activations);
    EXPECT_TRUE(made) << made.error().message;
    device = std::move(*made);
    EXPECT_TRUE(device->reserve(limits));
  }
};

// Every kernel set that this machine runs, the portable one first.
inline std::vector<CpuKernels> usable_kernels() {
  std::vector<CpuKernels> usable;
  ThreadPool pool(1);
  for (const CpuKernels kernels :
       {CpuKernels::kPortable, CpuKernels::kAvx2, CpuKernels::kAvx512, CpuKernels::kNeon})
    if (make_cpu_device(pool, kernels)) usable.push_back(kernels);
  return usable;
}

inline std::string name_of(CpuKernels kernels) {
  if (kernels == CpuKernels::kPortable) return "portable";
  if (kernels == CpuKernels::kAvx512) return "avx512";
  return kernels == CpuKernels::kAvx2 ? "avx2" : "neon";
}

inline std::vector<float> random_values(Rng& rng, size_t count, double scale = 1.0) {
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>((rng.uniform() * 2 - 1) * scale);
  return values;
}

// `bytes` at the end of a buffer, whose next page stops the process: reading on would show.
struct Ending {
  std::unique_ptr<Buffer> buffer;
  uint64_t offset = 0;
};

inline Ending at_the_end(Device& device, uint64_t bytes) {
  const uint64_t whole = align_up<uint64_t>(bytes, kPageBytes);
  const uint64_t offset = (whole - bytes) / 64 * 64;  // vectors of 16 floats stay aligned
  return {std::make_unique<Buffer>(*device.allocate(whole)), offset};
}

// Rows on a device. The floats between width and stride are NaN: reading them would show.
struct DeviceRows {
  std::unique_ptr<Buffer> buffer;
  Rows rows;
};

inline DeviceRows make_rows(Device& device, uint32_t count, uint32_t width,
                            std::span<const float> values = {}) {
  const uint32_t stride = align_up(width, 16U);
  std::vector<float> padded(size_t{count} * stride, kNan);
  for (size_t row = 0; row < count && !values.empty(); ++row)
    std::memcpy(padded.data() + row * stride, values.data() + row * width, width * sizeof(float));
  DeviceRows made;
  Ending place = at_the_end(device, padded.size() * sizeof(float));
  made.buffer = std::move(place.buffer);
  device.write({made.buffer.get(), place.offset}, std::as_bytes(std::span(padded)));
  made.rows = {{made.buffer.get(), place.offset}, count, width, stride};
  return made;
}

inline std::vector<float> values_of(Device& device, const Rows& rows) {
  std::vector<float> values(size_t{rows.count} * rows.width);
  EXPECT_TRUE(device.read(rows, values));
  return values;
}

inline Vector make_vector(Device& device, std::unique_ptr<Buffer>& buffer,
                          std::span<const float> values) {
  buffer = std::make_unique<Buffer>(*device.allocate(values.size_bytes()));
  device.write({buffer.get(), 0}, std::as_bytes(values));
  return {{buffer.get(), 0}, static_cast<uint32_t>(values.size())};
}

// The place of the first element whose bits differ, or -1. All NaN are one value: which payload a
// NaN carries is not promised.
inline ptrdiff_t first_difference(std::span<const float> a, std::span<const float> b) {
  if (a.size() != b.size()) return static_cast<ptrdiff_t>(std::min(a.size(), b.size()));
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    if (std::bit_cast<uint32_t>(a[i]) != std::bit_cast<uint32_t>(b[i]))
      return static_cast<ptrdiff_t>(i);
  }
  return -1;
}

inline testing::AssertionResult same_bits(std::span<const float> a, std::span<const float> b) {
  const ptrdiff_t at = first_difference(a, b);
  if (at < 0) return testing::AssertionSuccess();
  const auto index = static_cast<size_t>(at);
  auto result = testing::AssertionFailure() << "differ at " << at << " of " << a.size();
  if (index < a.size() && index < b.size())
    result << ": " << std::hexfloat << a[index] << " and " << b[index];
  return result;
}

// A matrix in tiles, and the same weights as doubles.
struct TestMatrix {
  Format format = Format::kF32;
  uint32_t rows = 0;
  uint32_t cols = 0;
  std::vector<std::byte> tiles;
  std::vector<float> weights;  // [rows][cols], what the tiles mean

  double weight(size_t row, size_t col) const { return double{weights[row * cols + col]}; }
};

// Where the scales of a block lie, and a size for which weights are near 1.
struct BlockScales {
  Format format;
  size_t offset;
  size_t count;  // fp16, side by side
  double size;
};
inline constexpr BlockScales kBlockScales[] = {
    {Format::kQ8_0, 0, 1, 0.01},    {Format::kQ4_0, 0, 1, 0.1},    {Format::kQ4_1, 0, 2, 0.1},
    {Format::kQ5_0, 0, 1, 0.1},     {Format::kQ5_1, 0, 2, 0.1},    {Format::kQ2_K, 80, 2, 0.05},
    {Format::kQ3_K, 108, 1, 0.02},  {Format::kQ4_K, 0, 2, 0.005},  {Format::kQ5_K, 0, 2, 0.002},
    {Format::kQ6_K, 208, 1, 0.001}, {Format::kIQ4_NL, 0, 1, 0.01}, {Format::kIQ4_XS, 0, 1, 0.001},
};

// Blocks of random bytes, so that every code and every scale of a part comes up.
inline std::vector<std::byte> random_blocks(Rng& rng, Format format, size_t count) {
  const Block block = block_of(info(format).source);
  std::vector<std::byte> data(count / block.weights * block.bytes);
  for (std::byte& byte : data) byte = static_cast<std::byte>(rng.next());
  for (size_t at = 0; at < data.size(); at += block.bytes) {
    if (format == Format::kMXFP4) data[at] = static_cast<std::byte>(118 + rng.next() % 8);
    for (const BlockScales& scales : kBlockScales) {
      if (scales.format != format) continue;
      for (size_t i = 0; i < scales.count; ++i) {
        const auto scale = static_cast<float>((rng.uniform() * 2 - 1) * scales.size);
        const uint16_t half = float_to_f16(scale);
        std::memcpy(&data[at + scales.offset + i * 2], &half, sizeof half);
      }
    }
  }
  return data;
}

inline std::vector<std::byte> random_source(Rng& rng, Format format, size_t count) {
  const DType dtype = info(format).source;
  if (is_block(dtype)) return random_blocks(rng, format, count);
  std::vector<std::byte> data(count * bytes_of(dtype));
  for (size_t i = 0; i < count; ++i) {
    const auto value = static_cast<float>(rng.uniform() * 2 - 1);
    uint16_t half = dtype == DType::kF16 ? float_to_f16(value) : float_to_bf16(value);
    auto byte = static_cast<uint8_t>(rng.next());
    if ((byte & 0x7fU) == 0x7fU) byte = 0;
    if (dtype == DType::kF32) std::memcpy(&data[i * 4], &value, 4);
    if (dtype == DType::kF16 || dtype == DType::kBF16) std::memcpy(&data[i * 2], &half, 2);
    if (dtype == DType::kF8E4M3) std::memcpy(&data[i], &byte, 1);
  }
  return data;
}

// The next width that the format's blocks fill.
inline uint32_t whole_blocks(Format format, uint32_t cols) {
  return align_up(cols, info(format).block_k);
}

inline TestMatrix random_matrix(Rng& rng, Format format, uint32_t rows, uint32_t cols) {
  TestMatrix matrix{format, rows, cols, {}, std::vector<float>(size_t{rows} * cols)};
  const DType dtype = info(format).source;
  const auto data = random_source(rng, format, size_t{rows} * cols);
  std::vector<float> scales;
  if (dtype == DType::kF8E4M3)
    for (uint32_t i = 0; i < ceil_div(rows, 128U) * ceil_div(cols, 128U); ++i)
      scales.push_back(static_cast<float>(0.001 + rng.uniform() * 0.01));
  const size_t bytes = tile_bytes(format, cols);
  matrix.tiles.resize(matrix_bytes(format, rows, cols));
  for (uint32_t tile = 0; tile < ceil_div(rows, kTileRows); ++tile) {
    const std::span<std::byte> out(matrix.tiles.data() + tile * bytes, bytes);
    EXPECT_TRUE(pack_tile({dtype, rows, cols, data, scales}, format, tile, out));
    for (uint32_t row = tile * kTileRows; row < std::min(rows, (tile + 1) * kTileRows); ++row)
      unpack_row(format, out, row % kTileRows,
                 std::span(matrix.weights).subspan(size_t{row} * cols, cols));
  }
  return matrix;
}

struct DeviceMatrix {
  std::unique_ptr<Buffer> buffer;
  Matrix matrix;
};

// `gap`: bytes between tiles, as in a record where gate and up share a range.
inline DeviceMatrix upload(Device& device, const TestMatrix& matrix, uint64_t gap = 0) {
  const uint64_t bytes = tile_bytes(matrix.format, matrix.cols);
  const uint32_t tiles = ceil_div(matrix.rows, kTileRows);
  DeviceMatrix made;
  // The last tile has no gap behind it.
  Ending place = at_the_end(device, tiles * (bytes + gap) - gap);
  made.buffer = std::move(place.buffer);
  for (uint64_t tile = 0; tile < tiles; ++tile)
    device.write({made.buffer.get(), place.offset + tile * (bytes + gap)},
                 {matrix.tiles.data() + tile * bytes, bytes});
  made.matrix = {
      {made.buffer.get(), place.offset}, matrix.format, matrix.rows, matrix.cols, bytes + gap};
  return made;
}

inline constexpr Format kAllFormats[] = {
    Format::kF32,  Format::kF16,  Format::kBF16,   Format::kQ8_0,   Format::kF8E4M3, Format::kQ4_0,
    Format::kQ4_1, Format::kQ5_0, Format::kQ5_1,   Format::kQ2_K,   Format::kQ3_K,   Format::kQ4_K,
    Format::kQ5_K, Format::kQ6_K, Format::kIQ4_NL, Format::kIQ4_XS, Format::kMXFP4};
static_assert(std::size(kAllFormats) == kFormats);

inline bool is_block(Format format) { return is_block(info(format).source); }

}  // namespace smoe::test
