// Tiles of blocks times a few rows of quantised activations: the loop that all block formats share.
//
// A format is a `Source`. It says how the bytes of a block lie, and gives for four rows at a time
//
//   Head head(const std::byte* at)         what a block's own scales are, of four rows from `at` on
//   int8x16_t codes(words, block, group)   the codes of the k's 32 block + 4 group + 0 ... 3: a
//   byte
//                                          each, row by row; `words`: of the four rows, 64 bytes on
//                                          from each other
//   float32x4_t step(head, words, part), base(head, words, part)
//
// and these constants:
//
//   kBlockK, kBlockBytes, kHeadBytes, kUnitBlocks   as in docs/block-formats.md, section 2
//   kPartK                                          k's that share step and base: 16 or 32
//   kHasBases
//
// One instruction (SDOT) adds four products to each of four rows' sums.
#pragma once

#include <cstddef>

#include "devices/cpu/kernels/neon/block_bits.h"
#include "devices/cpu/kernels/neon/lanes.h"
#include "devices/cpu/kernels/neon/neon.h"
#include "devices/cpu/kernels/neon/quantized.h"

namespace smoe::cpu::neon {
namespace {

// kRows rows of activations times one tile.
template <class Source, int kRows>
class BlockPass {
 public:
  [[gnu::always_inline]] BlockPass(const TileRun& run, uint32_t tile)
      : run_(run), tile_(tile), weights_(run.tiles + tile * run.tile_stride) {
    unrolled<kRows>([&](auto t) {
      rows_[t] = run.rows[t];
      unrolled<4>([&](auto q) {
        sums_[q][t] = run.resume ? load_lanes(out(q, t), lanes(q)) : vdupq_n_f32(0);
      });
    });
  }

  [[gnu::always_inline]] void run() {
    const uint32_t blocks = run_.cols / Source::kBlockK;
    for (uint32_t block = 0; block < blocks; ++block) {
      const size_t inside = block % Source::kUnitBlocks;
      add_block(weights_ + inside * kTileRows * Source::kHeadBytes,
                weights_ + 64 + inside * kWordBytes);
      if (inside + 1 == Source::kUnitBlocks) weights_ += kUnitBytes;
    }
    unrolled<4>([&](auto q) {
      unrolled<kRows>([&](auto t) { store_lanes(out(q, t), lanes(q), sums_[q][t]); });
    });
  }

 private:
  static constexpr size_t kWordBytes =
      size_t{kTileRows} * (Source::kBlockBytes - Source::kHeadBytes);
  static constexpr size_t kUnitBytes = 64 + Source::kUnitBlocks * kWordBytes;
  static constexpr int kParts = kQuantBlock / Source::kPartK;
  static constexpr int kPartVectors = Source::kPartK / 16;
  static_assert(Source::kUnitBlocks * kTileRows * Source::kHeadBytes == 64);

  [[gnu::always_inline]] float* out(int q, int t) const {
    return run_.out + static_cast<size_t>(t) * run_.out_stride + tile_ * size_t{kTileRows} +
           static_cast<size_t>(q) * 4;
  }
  [[gnu::always_inline]] uint32_t lanes(int q) const {
    const uint32_t first = tile_ * kTileRows + static_cast<uint32_t>(q) * 4;
    return run_.out_width > first ? run_.out_width - first : 0;
  }

  // A block of weights, its heads and its words.
  [[gnu::always_inline]] void add_block(const std::byte* heads, const std::byte* words) {
    typename Source::Head head[4];
    unrolled<4>([&](auto q) { head[q] = Source::head(heads + q * 4 * Source::kHeadBytes); });
    for (int block = 0; block < static_cast<int>(Source::kBlockK / kQuantBlock); ++block) {
      // No constants here: a quarter's sums and activations are what the registers hold.
      for (int q = 0; q < 4; ++q)
        unrolled<kParts>([&](auto part) __attribute__((always_inline)) {
          add_part<part>(head[q], words + q * 16, block, sums_[q]);
        });
      at_ += kQuantizedBlockBytes;
    }
  }

  // Part kPart of 32 k's, for a quarter of a tile.
  template <int kPart>
  [[gnu::always_inline]] void add_part(const typename Source::Head& head, const std::byte* words,
                                       int block, float32x4_t (&sums)[kRows]) const {
    int32x4_t dots[kRows];
    unrolled<kRows>([&](auto t) { dots[t] = vdupq_n_s32(0); });
    unrolled<kPartVectors>([&](auto v) __attribute__((always_inline)) {
      constexpr int kVector = kPart * kPartVectors + v;
      int8x16_t values[kRows];
      unrolled<kRows>([&](auto t) __attribute__((always_inline)) {
        values[t] = load_codes(rows_[t] + at_ + kValuesOffset + kVector * 16);
      });
      unrolled<4>([&](auto i) __attribute__((always_inline)) {
        const int8x16_t codes = Source::codes(words, block, kVector * 4 + i);
        unrolled<kRows>([&](auto t) __attribute__((always_inline)) {
          dots[t] = vdotq_laneq_s32(dots[t], codes, values[t], i);
        });
      });
    });
    const int part = block * kParts + kPart;
    const float32x4_t step = Source::step(head, words, part);
    float32x4_t base = vdupq_n_f32(0);
    if constexpr (Source::kHasBases) base = Source::base(head, words, part);
    unrolled<kRows>([&](auto t) __attribute__((always_inline)) {
      const std::byte* activation = rows_[t] + at_;
      float scale = 0;
      std::memcpy(&scale, activation + kScaleOffset, sizeof scale);
      sums[t] = vfmaq_f32(sums[t], vmulq_n_f32(step, scale), vcvtq_f32_s32(dots[t]));
      if constexpr (Source::kHasBases) {
        int32_t total = 0;
        std::memcpy(&total, activation + kSumsOffset + (kParts == 1 ? 2 : kPart) * 4, sizeof total);
        sums[t] = vfmaq_f32(sums[t], base, vdupq_n_f32(scale * static_cast<float>(total)));
      }
    });
  }

  const TileRun& run_;
  const uint32_t tile_;
  const std::byte* weights_;
  const std::byte* rows_[kRows];
  size_t at_ = 0;  // bytes of activations done
  float32x4_t sums_[4][kRows];
};

template <class Source, int kRows>
[[gnu::flatten]] void run_block_rows(const TileRun& run) {
  for (uint32_t tile = 0; tile < run.count; ++tile) BlockPass<Source, kRows>(run, tile).run();
}

template <class Source>
[[gnu::always_inline]] inline void run_source(const TileRun& run) {
  static constexpr void (*kRuns[kBlockRows])(const TileRun&) = {
      run_block_rows<Source, 1>, run_block_rows<Source, 2>, run_block_rows<Source, 3>,
      run_block_rows<Source, 4>, run_block_rows<Source, 5>, run_block_rows<Source, 6>};
  kRuns[run.row_count - 1](run);
}

}  // namespace
}  // namespace smoe::cpu::neon
