// Block formats with activations quantised to int8 in blocks of 32: whole-number sums inside a part
// of a block, then one multiplication of the two scales and one fma a part.
#include "formats/block_tiles.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>

#include "devices/cpu/kernels/portable/block_codes.h"
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
  for (uint32_t i = 0; i < kQuantBlock; ++i) {
    block.values[i] = static_cast<int8_t>(std::lrint(in[i] * inverse));  // half to even
    block.sums[i / (kQuantBlock / 2)] += block.values[i];
    block.sums[2] += block.values[i];
  }
  return block;
}

// Part `part` of a block of weights times the same k's of the activations.
float multiply_part(const BlockCodes& weights, uint32_t part, const QuantizedBlock& activation,
                    float sum) {
  const uint32_t first = part * weights.part_k;
  int32_t dot = 0;
  for (uint32_t k = first; k < first + weights.part_k; ++k)
    dot += int32_t{weights.codes[k]} * activation.values[k % kQuantBlock];
  sum = std::fma(weights.steps[part] * activation.scale, static_cast<float>(dot), sum);
  if (!weights.has_bases) return sum;
  const size_t which = weights.part_k == kQuantBlock ? 2 : part % 2;
  return std::fma(weights.bases[part],
                  activation.scale * static_cast<float>(activation.sums[which]), sum);
}

}  // namespace

void quantize(const float* in, uint32_t cols, std::byte* out) {
  for (uint32_t k = 0; k < cols; k += kQuantBlock, out += sizeof(QuantizedBlock)) {
    const QuantizedBlock block = quantize_block(in + k);
    std::memcpy(out, &block, sizeof block);
  }
}

template <Format kFormat>
void run_blocks(const TileRun& run) {
  const uint32_t block_k = info(kFormat).block_k;
  const size_t block_bytes = block_of(info(kFormat).source).bytes;
  for (uint32_t column = 0; column < run.out_width; ++column) {
    const size_t tile = column / kTileRows * run.tile_stride;
    const std::span<const std::byte> bytes(run.tiles + tile, tile_bytes(kFormat, run.cols));
    float sums[kMaxRows];
    for (uint32_t row = 0; row < run.row_count; ++row)
      sums[row] = run.resume ? run.out[row * run.out_stride + column] : 0.0F;
    for (uint32_t first = 0; first < run.cols; first += block_k) {
      std::array<std::byte, kMostBlockBytes> block;
      unpack_block(kFormat, bytes, column % kTileRows, first / block_k,
                   std::span(block).first(block_bytes));
      BlockCodes weights;
      decode_block(kFormat, block.data(), weights);
      for (uint32_t row = 0; row < run.row_count; ++row) {
        for (uint32_t part = 0; part * weights.part_k < block_k; ++part) {
          QuantizedBlock activation;
          const uint32_t index = (first + part * weights.part_k) / kQuantBlock;
          std::memcpy(&activation, run.rows[row] + index * sizeof activation, sizeof activation);
          sums[row] = multiply_part(weights, part, activation, sums[row]);
        }
      }
    }
    for (uint32_t row = 0; row < run.row_count; ++row)
      run.out[row * run.out_stride + column] = sums[row];
  }
}

template void run_blocks<Format::kQ8_0>(const TileRun& run);
template void run_blocks<Format::kQ4_0>(const TileRun& run);
template void run_blocks<Format::kQ4_1>(const TileRun& run);
template void run_blocks<Format::kQ5_0>(const TileRun& run);
template void run_blocks<Format::kQ5_1>(const TileRun& run);
template void run_blocks<Format::kQ2_K>(const TileRun& run);
template void run_blocks<Format::kQ3_K>(const TileRun& run);
template void run_blocks<Format::kQ4_K>(const TileRun& run);
template void run_blocks<Format::kQ5_K>(const TileRun& run);
template void run_blocks<Format::kQ6_K>(const TileRun& run);
template void run_blocks<Format::kIQ4_NL>(const TileRun& run);
template void run_blocks<Format::kIQ4_XS>(const TileRun& run);
template void run_blocks<Format::kMXFP4>(const TileRun& run);

}  // namespace smoe::cpu::portable
