// The kernels of one instruction set. Every set fills the same table; `portable/` is the meaning of
// each entry, and another set's must give the same bits. docs/kernels.md writes the sequences down.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "formats/block_format.h"

namespace smoe::cpu {

// Activation rows that any kernel takes in one pass, at most.
inline constexpr uint32_t kMaxRows = 8;
// Positions of one step of the online softmax.
inline constexpr uint32_t kStepPositions = 32;
// Activations that share one scale when they are quantised.
inline constexpr uint32_t kQuantBlock = 32;

// out[row][16 i + lane] = (resume ? the same element : 0), then one fma for each k in ascending
// order (for formats of blocks: one or two for each part of a block). Lanes at or above out_width
// are not written, and no activation beyond `cols` is read.
struct TileRun {
  const std::byte* tiles = nullptr;      // first tile, at the unit that holds the first k
  uint64_t tile_stride = 0;              // bytes from a tile to the next
  uint32_t count = 0;                    // tiles
  uint32_t cols = 0;                     // k's to add
  const std::byte* rows[kMaxRows] = {};  // each row from the first k on: f32, or quantised (blocks)
  uint32_t row_count = 0;
  float* out = nullptr;
  size_t out_stride = 0;   // floats
  uint32_t out_width = 0;  // <= 16 * count
  bool resume = false;
};

struct TileKernel {
  uint32_t max_rows;  // most rows of one run
  void (*run)(const TileRun& run);
  // Writes the k's of one tile as an F32 tile; null where decoding on the fly costs nothing. With
  // many rows a tile is decoded once. `out` has room for `cols` rounded up to a multiple of four.
  void (*expand)(const std::byte* tile, uint32_t cols, float* out);
};

// Activations for formats of blocks: kQuantBlock together, `block_bytes` each, in a layout of the
// set's own.
struct Quantizer {
  size_t block_bytes;
  void (*run)(const float* in, uint32_t cols, std::byte* out);
};

// One step of attention for one query. In: 32 scores, `positions` of them valid. Out: their
// unnormalised weights exp(score - maximum), zero beyond `positions`. Returns what earlier sums are
// to be multiplied with.
struct SoftmaxState {
  float maximum;
  float sum;
};
using SoftmaxStep = float (*)(float* scores, uint32_t positions, SoftmaxState& state);

// sums[row][d] = sums[row][d] * rescale[row], then one fma for each position in ascending order.
struct ValueRun {
  const float* values = nullptr;  // [positions][head_dim]
  uint32_t head_dim = 0;
  uint32_t positions = 0;
  const float* weights = nullptr;  // [row_count][kStepPositions]
  const float* rescale = nullptr;  // [row_count]
  uint32_t row_count = 0;          // <= kMaxRows
  float* sums = nullptr;           // [row_count][sums_stride]
  size_t sums_stride = 0;          // floats, a multiple of 16
};

struct NormRun {
  const float* in;
  const float* weight;
  uint32_t width;
  float epsilon;
  float* out;
};

struct KernelTable {
  std::string_view name;  // for people: "AVX2"
  TileKernel tiles[kFormats];
  Quantizer quantizer;
  SoftmaxStep softmax_step;
  void (*add_values)(const ValueRun& run);
  uint32_t value_rows;  // most rows of one add_values, as max_rows
  // Numbers of the KV cache as f32, which is exact: `count` of F16, a multiple of 32; and one
  // head's keys or values in a page of Q8_0, codes and scales as KvPages (compute/tensor.h) has
  // them. Seven floats behind the last value may be written.
  void (*widen_f16)(const std::byte* in, size_t count, float* out);
  void (*widen_keys)(const std::byte* in, uint32_t head_dim, float* out);
  void (*widen_values)(const std::byte* in, uint32_t head_dim, float* out);
  void (*normalize)(const NormRun& run);
  // gate[i] = silu(gate[i]) * up[i]
  void (*gate)(float* gate, const float* up, uint32_t width);
  // Turns pairs (i, i + dims/2) of one head; angles: dims/2 cosines, then dims/2 sines.
  void (*rotate)(float* head, const float* angles, uint32_t dims);
  // out[i] += weight * in[i], rounded twice
  void (*add_weighted)(const float* in, float weight, uint32_t width, float* out);

  const TileKernel& tiles_of(Format format) const { return tiles[static_cast<size_t>(format)]; }
};

}  // namespace smoe::cpu
