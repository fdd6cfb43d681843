// Tiles of blocks times a few rows of quantised activations: the loop that all block formats share.
//
// A format is a `Source`. It says how the bytes of a block lie, and gives for eight rows at a time
//
//   Head head(const std::byte* at)       what a block's own scales are, of eight rows from `at` on
//   __m256i codes(words, block, group)   the codes of the k's 32 block + 4 group + 0 ... 3: a byte
//                                        each, row by row; `words`: of the eight rows, 64 bytes on
//                                        from each other
//   __m256 step(head, words, part), base(head, words, part)
//
// and these constants:
//
//   kBlockK, kBlockBytes, kHeadBytes, kUnitBlocks   as in docs/block-formats.md, section 2
//   kPartK                                          k's that share step and base: 16 or 32
//   kHasBases
//   kLargest  the largest code, codes being unsigned and `kOffset` too large; 0: codes are int8
//
// Unsigned codes take half the multiplications of signed ones: vpmaddubsw adds pairs of products to
// 16 bits, in which as many groups are summed as fit.
#pragma once

#include <cstddef>

#include "devices/cpu/kernels/avx2/avx2.h"
#include "devices/cpu/kernels/avx2/block_bits.h"
#include "devices/cpu/kernels/avx2/lanes.h"
#include "devices/cpu/kernels/avx2/quantized.h"

namespace smoe::cpu::avx2 {
namespace {

// kRows rows of activations times one tile.
template <class Source, int kRows>
class BlockPass {
 public:
  [[gnu::always_inline]] BlockPass(const TileRun& run, uint32_t tile)
      : run_(run), tile_(tile), weights_(run.tiles + tile * run.tile_stride) {
    unrolled<kRows>([&](auto t) {
      rows_[t] = run.rows[t];
      unrolled<2>([&](auto h) {
        sums_[h][t] = run.resume ? load_lanes(out(h, t), lanes(h)) : _mm256_setzero_ps();
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
    unrolled<2>([&](auto h) {
      unrolled<kRows>([&](auto t) { store_lanes(out(h, t), lanes(h), sums_[h][t]); });
    });
  }

 private:
  static constexpr size_t kWordBytes =
      size_t{kTileRows} * (Source::kBlockBytes - Source::kHeadBytes);
  static constexpr size_t kUnitBytes = 64 + Source::kUnitBlocks * kWordBytes;
  static constexpr int kParts = kQuantBlock / Source::kPartK;
  static constexpr int kPartGroups = Source::kPartK / 4;
  static_assert(Source::kUnitBlocks * kTileRows * Source::kHeadBytes == 64);

  [[gnu::always_inline]] float* out(int h, int t) const {
    return run_.out + static_cast<size_t>(t) * run_.out_stride + tile_ * size_t{kTileRows} +
           static_cast<size_t>(h) * 8;
  }
  [[gnu::always_inline]] uint32_t lanes(int h) const {
    const uint32_t first = tile_ * kTileRows + static_cast<uint32_t>(h) * 8;
    return run_.out_width > first ? run_.out_width - first : 0;
  }

  // A block of weights, its heads and its words.
  [[gnu::always_inline]] void add_block(const std::byte* heads, const std::byte* words) {
    const typename Source::Head head[2] = {Source::head(heads),
                                           Source::head(heads + size_t{8} * Source::kHeadBytes)};
    for (int block = 0; block < static_cast<int>(Source::kBlockK / kQuantBlock); ++block) {
      // No constants here: with both halves in one piece gcc keeps the activations for the second
      // one, and has no registers for them.
      for (int h = 0; h < 2; ++h)
        unrolled<kParts>([&](auto part) __attribute__((always_inline)) {
          add_part<part>(head[h], words + h * 32, block, sums_[h]);
        });
      at_ += kQuantizedBlockBytes;
    }
  }

  // Part kPart of 32 k's, for half a tile.
  template <int kPart>
  [[gnu::always_inline]] void add_part(const typename Source::Head& head, const std::byte* words,
                                       int block, __m256 (&sums)[kRows]) {
    __m256i dots[kRows];
    unrolled<kRows>([&](auto t) { dots[t] = _mm256_setzero_si256(); });
    if constexpr (Source::kLargest == 0) {
      add_signed<kPart>(words, block, dots);
    } else {
      add_unsigned<kPart>(words, block, dots);
    }
    constexpr int kSum = kParts == 1 ? 2 : kPart;
    const int part = block * kParts + kPart;
    const __m256 step = Source::step(head, words, part);
    __m256 base = _mm256_setzero_ps();
    if constexpr (Source::kHasBases) base = Source::base(head, words, part);
    unrolled<kRows>([&](auto t) __attribute__((always_inline)) {
      const std::byte* activation = rows_[t] + at_;
      const __m256i total = broadcast_dword(activation + kSumsOffset + kSum * 4);
      if constexpr (Source::kOffset != 0) {
        const __m256i excess = _mm256_mullo_epi32(total, _mm256_set1_epi32(Source::kOffset));
        dots[t] = _mm256_sub_epi32(dots[t], excess);
      }
      const __m256 scale = broadcast_float(activation + kScaleOffset);
      __m256& sum = sums[t];
      sum = _mm256_fmadd_ps(_mm256_mul_ps(step, scale), _mm256_cvtepi32_ps(dots[t]), sum);
      if constexpr (Source::kHasBases)
        sum = _mm256_fmadd_ps(base, _mm256_mul_ps(scale, _mm256_cvtepi32_ps(total)), sum);
    });
  }

  template <int kPart>
  [[gnu::always_inline]] void add_unsigned(const std::byte* words, int block,
                                           __m256i (&dots)[kRows]) const {
    // Groups whose sums of two products each stay within 16 bits.
    constexpr int kFit = 32767 / (2 * Source::kLargest * 127);
    constexpr int kTogether = kFit >= kPartGroups ? kPartGroups : kFit >= 4 ? 4 : kFit >= 2 ? 2 : 1;
    static_assert(kFit >= 1);
    unrolled<kPartGroups / kTogether>([&](auto round) __attribute__((always_inline)) {
      __m256i pairs[kRows];
      unrolled<kTogether>([&](auto i) __attribute__((always_inline)) {
        constexpr int kGroup = kPart * kPartGroups + round * kTogether + i;
        const __m256i codes = Source::codes(words, block, kGroup);
        unrolled<kRows>([&](auto t) __attribute__((always_inline)) {
          const __m256i four = broadcast_dword(rows_[t] + at_ + kBytesOffset + kGroup * 4);
          const __m256i products = _mm256_maddubs_epi16(codes, four);
          pairs[t] = i == 0 ? products : _mm256_add_epi16(pairs[t], products);
        });
      });
      unrolled<kRows>([&](auto t) __attribute__((always_inline)) {
        dots[t] = _mm256_add_epi32(dots[t], _mm256_madd_epi16(pairs[t], _mm256_set1_epi16(1)));
      });
    });
  }

  // With 16-bit operands, which need no sign tricks; the widening is shared by all rows. As many
  // multiplications as vpmaddubsw with its second vpmaddwd, without a vpsignb.
  template <int kPart>
  [[gnu::always_inline]] void add_signed(const std::byte* words, int block,
                                         __m256i (&dots)[kRows]) const {
    unrolled<kPartGroups>([&](auto i) __attribute__((always_inline)) {
      constexpr int kGroup = kPart * kPartGroups + i;
      const __m256i codes = Source::codes(words, block, kGroup);
      const __m256i even = _mm256_srai_epi16(_mm256_slli_epi16(codes, 8), 8);
      const __m256i odd = _mm256_srai_epi16(codes, 8);
      unrolled<kRows>([&](auto t) __attribute__((always_inline)) {
        const std::byte* four = rows_[t] + at_ + kGroup * 8;
        dots[t] = _mm256_add_epi32(dots[t], _mm256_madd_epi16(even, broadcast_dword(four)));
        dots[t] = _mm256_add_epi32(dots[t], _mm256_madd_epi16(odd, broadcast_dword(four + 4)));
      });
    });
  }

  const TileRun& run_;
  const uint32_t tile_;
  const std::byte* weights_;
  const std::byte* rows_[kRows];
  size_t at_ = 0;  // bytes of activations done
  __m256 sums_[2][kRows];
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
}  // namespace smoe::cpu::avx2
