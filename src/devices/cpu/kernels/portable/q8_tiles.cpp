// Q8_0 tiles with activations quantised to int8 in blocks of 32: whole-number sums inside a block,
// one multiplication of the two scales and one fma a block.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/floats.h"
#include "devices/cpu/kernels/portable/portable.h"
#include "devices/cpu/kernels/portable/quantized.h"

namespace smoe::cpu::portable {
namespace {

constexpr uint32_t kInfinityBits = 0x7f800000U;
// Below this 127 / maximum would overflow.
constexpr float kSmallest = 1e-30F;

// The largest |x|, compared as whole numbers so that NaN and infinity come out on top.
uint32_t largest_bits(const float* in) {
  uint32_t largest = 0;
  for (uint32_t i = 0; i < kQuantBlock; ++i)
    largest = std::max(largest, std::bit_cast<uint32_t>(in[i]) & 0x7fffffffU);
  return largest;
}

// What rounding to int8 would hide must reach every output of the row: a NaN scale does it.
QuantizedBlock quantize_block(const float* in) {
  QuantizedBlock block{};
  const uint32_t largest = largest_bits(in);
  if (largest >= kInfinityBits) {
    block.scale = std::numeric_limits<float>::quiet_NaN();
    return block;
  }
  const auto maximum = std::bit_cast<float>(largest);
  if (maximum < kSmallest) return block;
  block.scale = maximum / 127.0F;
  const float inverse = 127.0F / maximum;
  for (uint32_t i = 0; i < kQuantBlock; ++i)
    block.values[i] = static_cast<int8_t>(std::lrint(in[i] * inverse));  // half to even
  return block;
}

// Offsets as in formats/block_format.h: a unit is a pair of blocks, `block` counts blocks.
float multiply_block(const std::byte* tile, uint32_t block, uint32_t lane,
                     const QuantizedBlock& activation, float sum) {
  const std::byte* unit = tile + size_t{block / 2} * 1088;
  uint16_t scale = 0;
  std::memcpy(&scale, unit + size_t{block % 2} * 32 + size_t{lane} * 2, sizeof scale);
  const std::byte* quants = unit + 64 + size_t{block % 2} * 512 + size_t{lane} * 4;
  int32_t dot = 0;
  for (uint32_t i = 0; i < kQuantBlock; ++i) {
    int8_t weight = 0;
    std::memcpy(&weight, quants + size_t{i / 4} * 64 + i % 4, sizeof weight);
    dot += int32_t{weight} * activation.values[i];
  }
  return std::fma(f16_to_float(scale) * activation.scale, static_cast<float>(dot), sum);
}

}  // namespace

void quantize(const float* in, uint32_t cols, std::byte* out) {
  for (uint32_t k = 0; k < cols; k += kQuantBlock, out += sizeof(QuantizedBlock)) {
    const QuantizedBlock block = quantize_block(in + k);
    std::memcpy(out, &block, sizeof block);
  }
}

void run_q8(const TileRun& run) {
  for (uint32_t column = 0; column < run.out_width; ++column) {
    const std::byte* tile = run.tiles + column / kTileRows * run.tile_stride;
    for (uint32_t row = 0; row < run.row_count; ++row) {
      float& out = run.out[row * run.out_stride + column];
      float sum = run.resume ? out : 0.0F;
      for (uint32_t block = 0; block < run.cols / kQuantBlock; ++block) {
        QuantizedBlock activation;
        std::memcpy(&activation, run.rows[row] + block * sizeof activation, sizeof activation);
        sum = multiply_block(tile, block, column % kTileRows, activation, sum);
      }
      out = sum;
    }
  }
}

}  // namespace smoe::cpu::portable
