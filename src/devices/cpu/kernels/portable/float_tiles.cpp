// Tiles of float weights: one chain of fma for each row and token, k ascending.
#include <cmath>
#include <cstring>

#include "base/floats.h"
#include "base/unaligned.h"
#include "devices/cpu/kernels/portable/portable.h"

namespace smoe::cpu::portable {
namespace {

// The weight of one lane at one k, decoded exactly; offsets as in formats/block_format.h.
float weight_f32(const std::byte* tile, uint32_t k, uint32_t lane) {
  return load<float>(tile + size_t{k} * 64 + size_t{lane} * 4);
}

float weight_f16(const std::byte* tile, uint32_t k, uint32_t lane) {
  return f16_to_float(load<uint16_t>(tile + size_t{k / 2} * 64 + size_t{lane} * 4 + k % 2 * 2));
}

float weight_bf16(const std::byte* tile, uint32_t k, uint32_t lane) {
  return bf16_to_float(load<uint16_t>(tile + size_t{k / 2} * 64 + size_t{lane} * 4 + k % 2 * 2));
}

float weight_f8(const std::byte* tile, uint32_t k, uint32_t lane) {
  const std::byte* unit = tile + size_t{k / 128} * 2112;
  const auto byte = load<uint8_t>(unit + 64 + size_t{k % 128 / 4} * 64 + size_t{lane} * 4 + k % 4);
  return e4m3_to_float(byte) * load<float>(unit + size_t{lane} * 4);
}

using Weight = float (*)(const std::byte* tile, uint32_t k, uint32_t lane);

template <Weight kWeight>
void multiply(const TileRun& run) {
  for (uint32_t tile = 0; tile < run.count; ++tile) {
    const std::byte* weights = run.tiles + tile * run.tile_stride;
    for (uint32_t lane = 0; lane < kTileRows; ++lane) {
      const uint32_t column = tile * kTileRows + lane;
      if (column >= run.out_width) break;
      for (uint32_t row = 0; row < run.row_count; ++row) {
        float& out = run.out[row * run.out_stride + column];
        float sum = run.resume ? out : 0.0F;
        for (uint32_t k = 0; k < run.cols; ++k) {
          const auto activation = load<float>(run.rows[row] + size_t{k} * sizeof(float));
          sum = std::fma(kWeight(weights, k, lane), activation, sum);
        }
        out = sum;
      }
    }
  }
}

template <Weight kWeight>
void expand(const std::byte* tile, uint32_t cols, float* out) {
  for (uint32_t k = 0; k < cols; ++k) {
    for (uint32_t lane = 0; lane < kTileRows; ++lane)
      out[size_t{k} * kTileRows + lane] = kWeight(tile, k, lane);
  }
}

}  // namespace

void run_f32(const TileRun& run) { multiply<weight_f32>(run); }
void run_f16(const TileRun& run) { multiply<weight_f16>(run); }
void run_bf16(const TileRun& run) { multiply<weight_bf16>(run); }
void run_f8(const TileRun& run) { multiply<weight_f8>(run); }

void expand_f16(const std::byte* tile, uint32_t cols, float* out) {
  expand<weight_f16>(tile, cols, out);
}
void expand_bf16(const std::byte* tile, uint32_t cols, float* out) {
  expand<weight_bf16>(tile, cols, out);
}
void expand_f8(const std::byte* tile, uint32_t cols, float* out) {
  expand<weight_f8>(tile, cols, out);
}

}  // namespace smoe::cpu::portable
