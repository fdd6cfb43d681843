// Q8_0 tiles. Whole-number products with 16-bit operands: vpmaddwd adds pairs exactly, needs no
// sign tricks, and the widening of the weights is shared by all tokens. Per 32 weights and token it
// starts as many multiplications as vpmaddubsw with its second vpmaddwd, without the vpsignb.
#include <cstring>

#include "devices/cpu/kernels/avx2/avx2.h"
#include "devices/cpu/kernels/avx2/lanes.h"

namespace smoe::cpu::avx2 {
namespace {

// A quantised block: eight groups of four activations as 16-bit numbers in the order 0 2 1 3, so
// that even and odd bytes of the weights each meet one dword; then the scale.
constexpr size_t kScaleOffset = kQuantBlock * 2;
constexpr size_t kUnitBytes = 1088;  // two blocks of 16 rows
constexpr size_t kBlockBytes = 512;
constexpr int kGroups = 8;

constexpr float kSmallest = 1e-30F;  // below it 127 / maximum would overflow

[[gnu::always_inline]] inline __m256i load_bits(const void* from) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(from));
}

[[gnu::always_inline]] inline __m256i broadcast_dword(const std::byte* from) {
  return _mm256_castps_si256(_mm256_broadcast_ss(reinterpret_cast<const float*>(from)));
}

// The largest of eight whole numbers.
[[gnu::always_inline]] inline int largest_of(__m256i values) {
  __m128i half = _mm_max_epi32(_mm256_castsi256_si128(values), _mm256_extracti128_si256(values, 1));
  half = _mm_max_epi32(half, _mm_shuffle_epi32(half, 0x4e));
  half = _mm_max_epi32(half, _mm_shuffle_epi32(half, 0xb1));
  return _mm_cvtsi128_si32(half);
}

// 16 activations as 16-bit numbers, each group of four in the order 0 2 1 3.
[[gnu::always_inline]] inline __m256i round_16(const float* in, __m256 inverse) {
  const __m256i low = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(in), inverse));
  const __m256i high = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(in + 8), inverse));
  const __m256i packed =
      _mm256_packs_epi32(_mm256_shuffle_epi32(low, 0xd8), _mm256_shuffle_epi32(high, 0xd8));
  return _mm256_permute4x64_epi64(packed, 0xd8);
}

void quantize_block(const float* in, std::byte* out) {
  const __m256i magnitude = _mm256_set1_epi32(0x7fffffff);
  __m256i largest = _mm256_setzero_si256();
  unrolled<4>([&](auto i) {
    // As whole numbers NaN and infinity are the largest.
    largest = _mm256_max_epi32(largest, _mm256_and_si256(load_bits(in + i * 8), magnitude));
  });
  const int bits = largest_of(largest);
  float maximum = 0;
  std::memcpy(&maximum, &bits, sizeof maximum);

  float scale = 0;
  __m256i values[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
  if (bits >= 0x7f800000) {
    scale = __builtin_nanf("");
  } else if (maximum >= kSmallest) {
    scale = maximum / 127.0F;
    const __m256 inverse = _mm256_set1_ps(127.0F / maximum);
    values[0] = round_16(in, inverse);
    values[1] = round_16(in + 16, inverse);
  }
  std::memcpy(out, values, sizeof values);
  std::memcpy(out + kScaleOffset, &scale, sizeof scale);
}

// kRows rows of activations times one tile.
template <int kRows>
class Pass {
 public:
  [[gnu::always_inline]] Pass(const TileRun& run, uint32_t tile)
      : run_(run), tile_(tile), weights_(run.tiles + tile * run.tile_stride) {
    unrolled<kRows>([&](auto t) {
      rows_[t] = run.rows[t];
      unrolled<2>([&](auto h) {
        sums_[h][t] = run.resume ? load_lanes(out(h, t), lanes(h)) : _mm256_setzero_ps();
      });
    });
  }

  [[gnu::always_inline]] void run() {
    uint32_t blocks = run_.cols / kQuantBlock;
    for (; blocks >= 2; blocks -= 2) {
      add_block(0);
      add_block(1);
      weights_ += kUnitBytes;
    }
    if (blocks > 0) add_block(0);
    unrolled<2>([&](auto h) {
      unrolled<kRows>([&](auto t) {
        if (lanes(1) >= 8) {
          _mm256_storeu_ps(out(h, t), sums_[h][t]);
        } else {
          store_lanes(out(h, t), lanes(h), sums_[h][t]);
        }
      });
    });
  }

 private:
  [[gnu::always_inline]] float* out(int h, int t) const {
    return run_.out + static_cast<size_t>(t) * run_.out_stride + tile_ * size_t{kTileRows} +
           static_cast<size_t>(h) * 8;
  }
  [[gnu::always_inline]] uint32_t lanes(int h) const {
    const uint32_t first = tile_ * kTileRows + static_cast<uint32_t>(h) * 8;
    return run_.out_width > first ? run_.out_width - first : 0;
  }

  [[gnu::always_inline]] void add_block(size_t block) {
    const std::byte* quants = weights_ + 64 + block * kBlockBytes;
    __m256i dots[2][kRows];
    unrolled<kRows>([&](auto t) { dots[0][t] = dots[1][t] = _mm256_setzero_si256(); });
    unrolled<kGroups>([&](auto g) {
      __m256i even[2];
      __m256i odd[2];
      unrolled<2>([&](auto h) {
        const __m256i raw = load_bits(quants + g * 64 + h * 32);
        even[h] = _mm256_srai_epi16(_mm256_slli_epi16(raw, 8), 8);
        odd[h] = _mm256_srai_epi16(raw, 8);
      });
      unrolled<kRows>([&](auto t) {
        const __m256i first = broadcast_dword(rows_[t] + at_ + g * 8);
        const __m256i second = broadcast_dword(rows_[t] + at_ + g * 8 + 4);
        unrolled<2>([&](auto h) {
          dots[h][t] = _mm256_add_epi32(dots[h][t], _mm256_madd_epi16(even[h], first));
          dots[h][t] = _mm256_add_epi32(dots[h][t], _mm256_madd_epi16(odd[h], second));
        });
      });
    });
    unrolled<2>([&](auto h) {
      const std::byte* halves = weights_ + block * 32 + h * 16;
      const __m256 weight_scale =
          _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(halves)));
      unrolled<kRows>([&](auto t) {
        const __m256 scale =
            _mm256_broadcast_ss(reinterpret_cast<const float*>(rows_[t] + at_ + kScaleOffset));
        sums_[h][t] = _mm256_fmadd_ps(_mm256_mul_ps(weight_scale, scale),
                                      _mm256_cvtepi32_ps(dots[h][t]), sums_[h][t]);
      });
    });
    at_ += kQuantizedBlockBytes;
  }

  const TileRun& run_;
  const uint32_t tile_;
  const std::byte* weights_;
  const std::byte* rows_[kRows];
  size_t at_ = 0;  // bytes of activations done
  __m256 sums_[2][kRows];
};

template <int kRows>
[[gnu::flatten]] void run_rows(const TileRun& run) {
  for (uint32_t tile = 0; tile < run.count; ++tile) Pass<kRows>(run, tile).run();
}

}  // namespace

void quantize(const float* in, uint32_t cols, std::byte* out) {
  for (uint32_t k = 0; k < cols; k += kQuantBlock, out += kQuantizedBlockBytes)
    quantize_block(in + k, out);
}

void run_q8(const TileRun& run) {
  static constexpr void (*kRuns[kQ8Rows])(const TileRun&) = {run_rows<1>, run_rows<2>, run_rows<3>,
                                                             run_rows<4>};
  kRuns[run.row_count - 1](run);
}

}  // namespace smoe::cpu::avx2
