// Tiles of float weights: decoded in registers, one chain of fma for each row and token. Four
// vectors of a tile are four chains; with few tokens two tiles go side by side, so that enough are
// under way to hide how long an fma takes.
#include "devices/cpu/kernels/neon/lanes.h"
#include "devices/cpu/kernels/neon/neon.h"

namespace smoe::cpu::neon {
namespace {

constexpr size_t kVectorBytes = 64;  // 16 rows of four bytes

[[gnu::always_inline]] inline uint32x4_t load_quarter(const std::byte* vector, int quarter) {
  return vreinterpretq_u32_u8(
      vld1q_u8(reinterpret_cast<const uint8_t*>(vector) + static_cast<ptrdiff_t>(quarter) * 16));
}

// std::min would be shared with the rest of the program.
[[gnu::always_inline]] inline uint32_t smaller(uint32_t a, uint32_t b) { return a < b ? a : b; }

// A format: how a vector of 4 rows times four bytes becomes kCols vectors of weights.
struct F32 {
  static constexpr int kCols = 1;
  static constexpr bool kScaled = false;
  template <int kCol>
  [[gnu::always_inline]] static float32x4_t decode(uint32x4_t raw, float32x4_t) {
    return vreinterpretq_f32_u32(raw);
  }
};

struct Bf16 {
  static constexpr int kCols = 2;
  static constexpr bool kScaled = false;
  template <int kCol>
  [[gnu::always_inline]] static float32x4_t decode(uint32x4_t raw, float32x4_t) {
    return vreinterpretq_f32_u32(kCol == 0 ? vshlq_n_u32(raw, 16)
                                           : vandq_u32(raw, vdupq_n_u32(0xffff0000)));
  }
};

struct F16 {
  static constexpr int kCols = 2;
  static constexpr bool kScaled = false;
  template <int kCol>
  [[gnu::always_inline]] static float32x4_t decode(uint32x4_t raw, float32x4_t) {
    const uint16x4_t halves = kCol == 0 ? vmovn_u32(raw) : vshrn_n_u32(raw, 16);
    return vcvt_f32_f16(vreinterpret_f16_u16(halves));
  }
};

// e4m3 bits put where an f32 has its sign, exponent and mantissa mean the value times 2^-120, also
// where it is subnormal.
struct F8 {
  static constexpr int kCols = 4;
  static constexpr bool kScaled = true;
  static constexpr uint32_t kUnitVectors = 32;
  template <int kCol>
  [[gnu::always_inline]] static float32x4_t decode(uint32x4_t raw, float32x4_t scale) {
    const int32x4_t top = vshlq_s32(vreinterpretq_s32_u32(raw), vdupq_n_s32(24 - 8 * kCol));
    const uint32x4_t bits =
        vandq_u32(vreinterpretq_u32_s32(vshrq_n_s32(top, 4)), vdupq_n_u32(0x87f00000));
    const float32x4_t value = vmulq_f32(vmulq_n_f32(vreinterpretq_f32_u32(bits), 0x1p+120F), scale);
    const uint32x4_t largest = vdupq_n_u32(0x07f00000);
    const uint32x4_t nan = vceqq_u32(vandq_u32(bits, largest), largest);
    return vreinterpretq_f32_u32(vorrq_u32(vreinterpretq_u32_f32(value), nan));
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
    each_quarter([&](auto n, auto q) {
      scale_[n][q] = vdupq_n_f32(0);
      unrolled<kRows>([&](auto t) {
        sums_[n][q][t] = run.resume ? load_lanes(out(n, q, t), lanes(n, q)) : vdupq_n_f32(0);
      });
    });
  }

  [[gnu::always_inline]] void run() {
    if constexpr (Weights::kScaled) {
      for (uint32_t done = 0; done * Weights::kCols < run_.cols; done += Weights::kUnitVectors) {
        load_scales();
        add_vectors(
            smaller(run_.cols - done * Weights::kCols, Weights::kUnitVectors * Weights::kCols) /
            Weights::kCols);
      }
    } else {
      add_vectors(run_.cols / Weights::kCols);
    }
    add_last(run_.cols % Weights::kCols);
    each_quarter([&](auto n, auto q) {
      unrolled<kRows>([&](auto t) { store_lanes(out(n, q, t), lanes(n, q), sums_[n][q][t]); });
    });
  }

 private:
  template <class Body>
  [[gnu::always_inline]] static void each_quarter(Body body) {
    unrolled<kTiles>([&](auto n) { unrolled<4>([&](auto q) { body(n, q); }); });
  }

  [[gnu::always_inline]] uint32_t column(int n, int q) const {
    return tile_ * kTileRows + static_cast<uint32_t>(n * 16 + q * 4);
  }
  [[gnu::always_inline]] float* out(int n, int q, int t) const {
    return run_.out + static_cast<size_t>(t) * run_.out_stride + column(n, q);
  }
  [[gnu::always_inline]] uint32_t lanes(int n, int q) const {
    const uint32_t first = column(n, q);
    return run_.out_width > first ? run_.out_width - first : 0;
  }

  [[gnu::always_inline]] void load_scales() {
    each_quarter([&](auto n, auto q) {
      scale_[n][q] = vreinterpretq_f32_u32(load_quarter(weights_[n], q));
    });
    unrolled<kTiles>([&](auto n) { weights_[n] += kVectorBytes; });
  }

  template <int kCol>
  [[gnu::always_inline]] void add_column() {
    float32x4_t weight[kTiles][4];
    each_quarter([&](auto n, auto q) {
      weight[n][q] = Weights::template decode<kCol>(load_quarter(weights_[n], q), scale_[n][q]);
    });
    unrolled<kRows>([&](auto t) {
      const float32x4_t activation = vld1q_dup_f32(rows_[t] + at_ + kCol);
      each_quarter([&](auto n, auto q) {
        sums_[n][q][t] = vfmaq_f32(sums_[n][q][t], weight[n][q], activation);
      });
    });
  }

  [[gnu::always_inline]] void add_vectors(uint32_t vectors) {
    for (; vectors > 0; --vectors) {
      unrolled<Weights::kCols>([&](auto c) { add_column<decltype(c)::value>(); });
      unrolled<kTiles>([&](auto n) { weights_[n] += kVectorBytes; });
      at_ += Weights::kCols;
    }
  }

  // The first `cols` columns of a vector that is only partly used.
  [[gnu::always_inline]] void add_last(uint32_t cols) {
    unrolled<Weights::kCols - 1>([&](auto c) {
      if (static_cast<uint32_t>(c) < cols) add_column<decltype(c)::value>();
    });
  }

  const TileRun& run_;
  const uint32_t tile_;
  const std::byte* weights_[kTiles];
  const float* rows_[kRows];
  size_t at_ = 0;  // activations done; one index for all rows leaves registers to the sums
  float32x4_t scale_[kTiles][4];
  float32x4_t sums_[kTiles][4][kRows];
};

template <class Weights, int kRows>
[[gnu::flatten]] void run_rows(const TileRun& run) {
  uint32_t tile = 0;
  if constexpr (kRows <= 2) {
    for (; tile + 2 <= run.count; tile += 2) Pass<Weights, kRows, 2>(run, tile).run();
  }
  for (; tile < run.count; ++tile) Pass<Weights, kRows, 1>(run, tile).run();
}

template <class Weights>
void run_format(const TileRun& run) {
  static constexpr void (*kRuns[kFloatRows])(const TileRun&) = {
      run_rows<Weights, 1>, run_rows<Weights, 2>, run_rows<Weights, 3>, run_rows<Weights, 4>,
      run_rows<Weights, 5>};
  kRuns[run.row_count - 1](run);
}

// A run's k's are a multiple of the unit except at a row's end; there the rest of the vector is
// zero and the caller's tile has room for it.
template <class Weights>
void expand(const std::byte* tile, uint32_t cols, float* out) {
  float32x4_t scale[4] = {};
  uint32_t vector = 0;
  for (uint32_t k = 0; k < cols; k += Weights::kCols, ++vector, tile += kVectorBytes) {
    if constexpr (Weights::kScaled) {
      if (vector % Weights::kUnitVectors == 0) {
        unrolled<4>([&](auto q) { scale[q] = vreinterpretq_f32_u32(load_quarter(tile, q)); });
        tile += kVectorBytes;
      }
    }
    unrolled<Weights::kCols>([&](auto c) {
      unrolled<4>([&](auto q) {
        vst1q_f32(out + (k + static_cast<uint32_t>(c)) * size_t{kTileRows} + q * 4,
                  Weights::template decode<decltype(c)::value>(load_quarter(tile, q), scale[q]));
      });
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

}  // namespace smoe::cpu::neon
