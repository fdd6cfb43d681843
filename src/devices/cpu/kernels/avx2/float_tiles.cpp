// Tiles of float weights: decoded in registers, one chain of fma for each row and token. An fma
// takes four cycles and two can start in each, so at least eight chains must be under way: with few
// tokens two tiles go side by side.
#include <cstring>

#include "devices/cpu/kernels/avx2/avx2.h"
#include "devices/cpu/kernels/avx2/lanes.h"

namespace smoe::cpu::avx2 {
namespace {

constexpr size_t kVectorBytes = 64;  // 16 rows of four bytes

[[gnu::always_inline]] inline __m256i load_half(const std::byte* vector, int half) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(vector + half * 32));
}

// std::min would be shared with the rest of the program.
[[gnu::always_inline]] inline uint32_t smaller(uint32_t a, uint32_t b) { return a < b ? a : b; }

// A format: how a vector of 8 rows times four bytes becomes kCols vectors of weights. Up to
// kPairedRows tokens, two tiles go side by side.
struct F32 {
  static constexpr int kPairedRows = 2;
  static constexpr int kCols = 1;
  static constexpr bool kScaled = false;
  template <int kCol>
  [[gnu::always_inline]] static __m256 decode(__m256i raw, __m256) {
    return _mm256_castsi256_ps(raw);
  }
};

struct Bf16 {
  static constexpr int kPairedRows = 2;
  static constexpr int kCols = 2;
  static constexpr bool kScaled = false;
  template <int kCol>
  [[gnu::always_inline]] static __m256 decode(__m256i raw, __m256) {
    const __m256i bits =
        kCol == 0 ? _mm256_slli_epi32(raw, 16)
                  : _mm256_and_si256(raw, _mm256_set1_epi32(static_cast<int>(0xffff0000)));
    return _mm256_castsi256_ps(bits);
  }
};

struct F16 {
  static constexpr int kPairedRows = 2;
  static constexpr int kCols = 2;
  static constexpr bool kScaled = false;
  template <int kCol>
  [[gnu::always_inline]] static __m256 decode(__m256i raw, __m256) {
    // Even halves to the lower 128 bits, odd ones to the upper: the conversion wants neighbours.
    const __m256i order = _mm256_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15, 0,
                                           1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15);
    const __m256i sorted = _mm256_permute4x64_epi64(_mm256_shuffle_epi8(raw, order), 0xd8);
    return _mm256_cvtph_ps(kCol == 0 ? _mm256_castsi256_si128(sorted)
                                     : _mm256_extracti128_si256(sorted, 1));
  }
};

// e4m3 bits put where an f32 has its sign, exponent and mantissa mean the value times 2^-120, also
// where it is subnormal. (An f32 subnormal as operand is slow on some processors, but one weight in
// thousands is.) NaN is found apart.
struct F8 {
  static constexpr int kPairedRows = 1;
  static constexpr int kCols = 4;
  static constexpr bool kScaled = true;
  static constexpr uint32_t kUnitVectors = 32;
  template <int kCol>
  [[gnu::always_inline]] static __m256 decode(__m256i raw, __m256 scale) {
    const __m256i top = _mm256_slli_epi32(raw, 24 - 8 * kCol);
    const __m256i bits = _mm256_and_si256(_mm256_srai_epi32(top, 4),
                                          _mm256_set1_epi32(static_cast<int>(0x87f00000)));
    const __m256 value = _mm256_mul_ps(_mm256_castsi256_ps(bits), _mm256_set1_ps(0x1p+120F));
    return _mm256_mul_ps(value, scale);
  }
  // All ones in each byte that is a NaN.
  [[gnu::always_inline]] static __m256i nan_bytes(__m256i raw) {
    const __m256i magnitude = _mm256_set1_epi8(0x7f);
    return _mm256_cmpeq_epi8(_mm256_and_si256(raw, magnitude), magnitude);
  }
};

// kRows rows of activations times kTiles tiles.
template <class Weights, int kRows, int kTiles>
class Pass {
 public:
  [[gnu::always_inline]] Pass(const TileRun& run, uint32_t tile) : run_(run), tile_(tile) {
    unrolled<kTiles>([&](auto n) {
      weights_[n] = run.tiles + (tile + static_cast<uint32_t>(n)) * run.tile_stride;
    });
    unrolled<kRows>([&](auto t) { rows_[t] = reinterpret_cast<const float*>(run.rows[t]); });
    each_half([&](auto n, auto h) {
      nan_[n][h] = _mm256_setzero_si256();
      scale_[n][h] = _mm256_setzero_ps();
      unrolled<kRows>([&](auto t) { sums_[n][h][t] = _mm256_setzero_ps(); });
    });
    if (run.resume) load();
  }

  [[gnu::always_inline]] void run() {
    if constexpr (Weights::kScaled) {
      for (uint32_t done = 0; done * Weights::kCols < run_.cols; done += Weights::kUnitVectors) {
        load_scales();
        const uint32_t cols =
            smaller(run_.cols - done * Weights::kCols, Weights::kUnitVectors * Weights::kCols);
        find_nan((cols + Weights::kCols - 1) / Weights::kCols);
        add_vectors(cols / Weights::kCols);
      }
    } else {
      add_vectors(run_.cols / Weights::kCols);
    }
    add_last(run_.cols % Weights::kCols);
    store();
  }

 private:
  template <class Body>
  [[gnu::always_inline]] static void each_half(Body body) {
    unrolled<kTiles>([&](auto n) { unrolled<2>([&](auto h) { body(n, h); }); });
  }

  [[gnu::always_inline]] uint32_t column(int n, int h) const {
    return static_cast<uint32_t>(n * 16 + h * 8);
  }
  [[gnu::always_inline]] float* out(int n, int h, int t) const {
    return run_.out + static_cast<size_t>(t) * run_.out_stride + tile_ * size_t{kTileRows} +
           column(n, h);
  }
  [[gnu::always_inline]] uint32_t lanes(int n, int h) const {
    const uint32_t first = tile_ * kTileRows + column(n, h);
    return run_.out_width > first ? run_.out_width - first : 0;
  }

  [[gnu::always_inline]] void load_scales() {
    each_half([&](auto n, auto h) {
      scale_[n][h] = _mm256_loadu_ps(reinterpret_cast<const float*>(weights_[n]) + h * 8);
    });
    unrolled<kTiles>([&](auto n) { weights_[n] += kVectorBytes; });
  }

  // One k: column kCol of the vector that begins `bytes` later.
  template <int kCol>
  [[gnu::always_inline]] void add_column(size_t bytes, int k) {
    __m256 weight[kTiles][2];
    each_half([&](auto n, auto h) {
      weight[n][h] =
          Weights::template decode<kCol>(load_half(weights_[n] + bytes, h), scale_[n][h]);
    });
    unrolled<kRows>([&](auto t) {
      const __m256 activation = _mm256_broadcast_ss(rows_[t] + at_ + k);
      each_half([&](auto n, auto h) {
        sums_[n][h][t] = _mm256_fmadd_ps(weight[n][h], activation, sums_[n][h][t]);
      });
    });
  }

  template <int kVectors>
  [[gnu::always_inline]] void add_block() {
    unrolled<kVectors>([&](auto v) {
      constexpr int kVector = decltype(v)::value;
      unrolled<Weights::kCols>([&](auto c) {
        add_column<decltype(c)::value>(kVector * kVectorBytes, kVector * Weights::kCols + c);
      });
    });
    unrolled<kTiles>([&](auto n) { weights_[n] += kVectors * kVectorBytes; });
    at_ += kVectors * Weights::kCols;
  }

  [[gnu::always_inline]] void add_vectors(uint32_t vectors) {
    constexpr uint32_t kStep = kRows == 1 ? 4 / Weights::kCols : 1;
    for (; vectors >= kStep; vectors -= kStep) add_block<kStep>();
    if constexpr (kStep > 1) {
      for (; vectors > 0; --vectors) add_block<1>();
    }
  }

  // The first `cols` columns of a vector that is only partly used.
  [[gnu::always_inline]] void add_last(uint32_t cols) {
    if constexpr (Weights::kCols > 1) {
      if (cols == 0) return;
      unrolled<Weights::kCols - 1>([&](auto c) {
        if (static_cast<uint32_t>(c) < cols) add_column<decltype(c)::value>(0, c);
      });
    }
  }

  // A look at the coming vectors of its own: in the main loop it would take registers of the sums.
  [[gnu::always_inline]] void find_nan(uint32_t vectors) {
    each_half([&](auto n, auto h) {
      for (uint32_t v = 0; v < vectors; ++v) {
        const __m256i raw = load_half(weights_[n] + v * kVectorBytes, h);
        nan_[n][h] = _mm256_or_si256(nan_[n][h], Weights::nan_bytes(raw));
      }
    });
  }

  // Whether every lane is an output, as in all tiles but a matrix's last.
  [[gnu::always_inline]] bool full() const { return lanes(kTiles - 1, 1) >= 8; }

  [[gnu::always_inline]] void load() {
    each_half([&](auto n, auto h) {
      unrolled<kRows>([&](auto t) {
        sums_[n][h][t] =
            full() ? _mm256_loadu_ps(out(n, h, t)) : load_lanes(out(n, h, t), lanes(n, h));
      });
    });
  }

  // A row with a NaN weight is NaN.
  [[gnu::always_inline]] __m256 result(int n, int h, int t) const {
    if constexpr (!Weights::kScaled) return sums_[n][h][t];
    const __m256i clean = _mm256_cmpeq_epi32(nan_[n][h], _mm256_setzero_si256());
    const __m256i nan = _mm256_andnot_si256(clean, _mm256_set1_epi32(-1));
    return _mm256_or_ps(sums_[n][h][t], _mm256_castsi256_ps(nan));
  }

  [[gnu::always_inline]] void store() {
    if (full()) {
      each_half([&](auto n, auto h) {
        unrolled<kRows>([&](auto t) { _mm256_storeu_ps(out(n, h, t), result(n, h, t)); });
      });
    } else {
      each_half([&](auto n, auto h) {
        unrolled<kRows>([&](auto t) { store_lanes(out(n, h, t), lanes(n, h), result(n, h, t)); });
      });
    }
  }

  const TileRun& run_;
  const uint32_t tile_;
  const std::byte* weights_[kTiles];
  const float* rows_[kRows];
  size_t at_ = 0;  // activations done; one index for all rows leaves registers to the sums
  __m256 scale_[kTiles][2];
  __m256i nan_[kTiles][2];
  __m256 sums_[kTiles][2][kRows];
};

template <class Weights, int kRows>
[[gnu::flatten]] void run_rows(const TileRun& run) {
  constexpr int kTiles = kRows <= Weights::kPairedRows ? 2 : 1;
  uint32_t tile = 0;
  if constexpr (kTiles == 2) {
    for (; tile + 2 <= run.count; tile += 2) Pass<Weights, kRows, 2>(run, tile).run();
  }
  for (; tile < run.count; ++tile) Pass<Weights, kRows, 1>(run, tile).run();
}

template <class Weights>
void run_format(const TileRun& run) {
  switch (run.row_count) {
    case 1:
      return run_rows<Weights, 1>(run);
    case 2:
      return run_rows<Weights, 2>(run);
    case 3:
      return run_rows<Weights, 3>(run);
    case 4:
      return run_rows<Weights, 4>(run);
    default:
      break;
  }
  if constexpr (!Weights::kScaled) {
    if (run.row_count == 5) return run_rows<Weights, 5>(run);
    run_rows<Weights, 6>(run);
  }
}

template <class Weights, int kCol>
[[gnu::always_inline]] inline void expand_column(const std::byte* vector, __m256 low, __m256 high,
                                                 float* out) {
  const __m256i raw[2] = {load_half(vector, 0), load_half(vector, 1)};
  unrolled<2>([&](auto h) {
    __m256 weight = Weights::template decode<kCol>(raw[h], h == 0 ? low : high);
    if constexpr (Weights::kScaled) {
      const __m256i nan = _mm256_slli_epi32(Weights::nan_bytes(raw[h]), 24 - 8 * kCol);
      weight = _mm256_or_ps(weight, _mm256_castsi256_ps(_mm256_srai_epi32(nan, 31)));
    }
    _mm256_storeu_ps(out + h * 8, weight);
  });
}

// A run's k's are a multiple of the unit except at a row's end; there the rest of the vector is
// zero and the caller's tile has room for it.
template <class Weights>
void expand(const std::byte* tile, uint32_t cols, float* out) {
  __m256 low = _mm256_setzero_ps();
  __m256 high = low;
  uint32_t vector = 0;
  for (uint32_t k = 0; k < cols; k += Weights::kCols, ++vector, tile += kVectorBytes) {
    if constexpr (Weights::kScaled) {
      if (vector % Weights::kUnitVectors == 0) {
        low = _mm256_loadu_ps(reinterpret_cast<const float*>(tile));
        high = _mm256_loadu_ps(reinterpret_cast<const float*>(tile) + 8);
        tile += kVectorBytes;
      }
    }
    unrolled<Weights::kCols>([&](auto c) {
      expand_column<Weights, decltype(c)::value>(
          tile, low, high, out + (k + static_cast<uint32_t>(c)) * size_t{kTileRows});
    });
  }
}

}  // namespace

void run_f32(const TileRun& run) { run_format<F32>(run); }
void run_f16(const TileRun& run) { run_format<F16>(run); }
void run_bf16(const TileRun& run) { run_format<Bf16>(run); }
void run_f8(const TileRun& run) { run_format<F8>(run); }

void expand_f16(const std::byte* tile, uint32_t cols, float* out) { expand<F16>(tile, cols, out); }
void expand_f8(const std::byte* tile, uint32_t cols, float* out) { expand<F8>(tile, cols, out); }

}  // namespace smoe::cpu::avx2
