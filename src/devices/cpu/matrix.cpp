#include "devices/cpu/matrix.h"

#include <algorithm>

#include "base/check.h"
#include "base/floats.h"
#include "devices/cpu/parallel.h"

namespace smoe::cpu {
namespace {

// Whether activations are quantised for it: weights in blocks of their own scales.
bool is_quantized(Format format) { return info(format).block_k > 1; }

// Bytes that `cols` activations take in the form that `format` wants.
size_t activation_bytes(const KernelTable& kernels, Format format, uint32_t cols) {
  if (!is_quantized(format)) return cols * sizeof(float);
  return cols / kQuantBlock * kernels.quantizer.block_bytes;
}

// Kept as f32: then the products are the same kernels'.
void round_to_bf16(const float* in, uint32_t cols, std::byte* out) {
  auto* to = reinterpret_cast<float*>(out);
  for (uint32_t k = 0; k < cols; ++k) to[k] = bf16_to_float(float_to_bf16(in[k]));
}

// A part of a product: some tiles, some k's.
struct Part {
  uint32_t tile;
  uint32_t tiles;
  uint32_t col;
  uint32_t cols;
};

TileRun run_of(const Product& product, const Part& part) {
  const HostMatrix& weight = product.weight;
  TileRun run;
  const size_t unit = part.col / info(weight.format).unit_k;
  run.tiles = weight.tiles + part.tile * weight.tile_stride + unit * info(weight.format).unit_bytes;
  run.tile_stride = weight.tile_stride;
  run.count = part.tiles;
  run.cols = part.cols;
  run.out_stride = product.out_stride;
  run.out_width = std::min(part.tiles * kTileRows, weight.rows - part.tile * kTileRows);
  run.resume = part.col > 0;
  return run;
}

// The same part for all rows, a few at a time.
void run_passes(const TileKernel& kernel, const Product& product, const Part& part,
                size_t row_offset, TileRun run) {
  const auto rows = static_cast<uint32_t>(product.rows.size());
  for (uint32_t first = 0; first < rows; first += run.row_count) {
    run.row_count = pass_size(rows - first, kernel.max_rows);
    for (uint32_t i = 0; i < run.row_count; ++i) run.rows[i] = product.rows[first + i] + row_offset;
    run.out = product.out + first * product.out_stride + size_t{part.tile} * kTileRows;
    kernel.run(run);
  }
}

// Decodes each tile of the part once, for all passes.
void expand_tiles(const TileKernel& kernel, float* tiles, TileRun& run) {
  const size_t tile_floats = size_t{align_up(run.cols, 4U)} * kTileRows;
  for (uint32_t tile = 0; tile < run.count; ++tile)
    kernel.expand(run.tiles + tile * run.tile_stride, run.cols, tiles + tile * tile_floats);
  run.tiles = reinterpret_cast<const std::byte*>(tiles);
  run.tile_stride = tile_floats * sizeof(float);
}

}  // namespace

RowPointers prepare_rows(const Means& means, Format format, RowPointers rows, uint32_t cols) {
  const bool rounded = means.rounds && format == Format::kBF16;
  if (!rounded && !is_quantized(format)) return rows;
  Scratch& scratch = means.scratch;
  const auto prepare = rounded ? round_to_bf16 : means.kernels.quantizer.run;
  const auto count = static_cast<uint32_t>(rows.size());
  for_each_range(means.pool, count, uint64_t{count} * cols,
                 [&](uint32_t begin, uint32_t end, unsigned) {
                   for (uint32_t row = begin; row < end; ++row) {
                     std::byte* out = scratch.quantized + row * scratch.quantized_bytes;
                     prepare(reinterpret_cast<const float*>(rows[row]), cols, out);
                     scratch.quantized_rows[row] = out;
                   }
                 });
  return {scratch.quantized_rows, rows.size()};
}

void multiply_tiles(const KernelTable& kernels, const Product& product, uint32_t begin,
                    uint32_t end, float* tiles) {
  const Format format = product.weight.format;
  const TileKernel& kernel = kernels.tiles_of(format);
  const uint32_t cols = product.weight.cols;
  if (product.rows.size() <= kernel.max_rows) {  // one pass: the weights stream by once
    const Part part{begin, end - begin, 0, cols};
    run_passes(kernel, product, part, 0, run_of(product, part));
    return;
  }
  for (uint32_t tile = begin; tile < end; tile += kGroupTiles) {
    for (uint32_t col = 0; col < cols; col += kBlockCols) {
      const Part part{tile, std::min(kGroupTiles, end - tile), col,
                      std::min(kBlockCols, cols - col)};
      TileRun run = run_of(product, part);
      if (kernel.expand != nullptr) expand_tiles(kernel, tiles, run);
      const TileKernel& chosen = kernel.expand != nullptr ? kernels.tiles_of(Format::kF32) : kernel;
      run_passes(chosen, product, part, activation_bytes(kernels, format, col), run);
    }
  }
}

void project(const Means& means, const ProjectCall& call) {
  const HostRows in(call.in);
  const HostRows out(call.out);
  if (in.count == 0) return;
  const HostMatrix weight(call.weight);
  const Scratch& scratch = means.scratch;
  SMOE_CHECK(in.count == out.count && in.count <= scratch.limits.rows);
  SMOE_CHECK(in.width == weight.cols && out.width == weight.rows);
  SMOE_CHECK(in.width <= scratch.limits.widest);
  const float* bias = nullptr;
  if (call.bias) {
    SMOE_CHECK(call.bias.width == weight.rows);
    bias = host_floats(call.bias.view, weight.rows);
  }

  for (uint32_t first = 0; first < in.count; first += kSweepRows) {
    const uint32_t count = std::min(kSweepRows, in.count - first);
    for (uint32_t row = 0; row < count; ++row)
      scratch.float_rows[row] = reinterpret_cast<const std::byte*>(in.row(first + row));
    RowPointers rows{scratch.float_rows, count};
    if (!call.exact || is_quantized(weight.format))
      rows = prepare_rows(means, weight.format, rows, weight.cols);
    const Product product{weight, rows, out.row(first), out.stride};
    const auto work = [&](uint32_t begin, uint32_t end, unsigned worker) {
      multiply_tiles(means.kernels, product, begin, end, scratch.workers[worker].tiles);
      if (bias == nullptr) return;
      const uint32_t column = begin * kTileRows;
      const uint32_t width = std::min(end * kTileRows, weight.rows) - column;
      for (uint32_t row = 0; row < count; ++row)
        means.kernels.add_weighted(bias + column, 1.0F, width, out.row(first + row) + column);
    };
    for_each_range(means.pool, weight.tile_count, uint64_t{count} * weight.rows * weight.cols,
                   work);
  }
}

}  // namespace smoe::cpu
