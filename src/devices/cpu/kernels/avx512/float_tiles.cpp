// Tiles of float weights: decoded in registers, one chain of fma for each row and token. An fma
// takes four cycles and two can start in each, so at least eight chains must be under way: with few
// tokens several tiles go side by side.
#include <cstddef>

#include "devices/cpu/kernels/avx512/avx512.h"
#include "devices/cpu/kernels/avx512/lanes.h"

namespace smoe::cpu::avx512 {
namespace {

constexpr size_t kVectorBytes = 64;  // 16 rows of four bytes

// A format: how a vector of 16 rows times four bytes becomes kCols vectors of weights.
struct F32 {
  static constexpr int kCols = 1;
  template <int kCol>
  [[gnu::always_inline]] static __m512 decode(__m512i raw) {
    return _mm512_castsi512_ps(raw);
  }
};

struct Bf16 {
  static constexpr int kCols = 2;
  template <int kCol>
  [[gnu::always_inline]] static __m512 decode(__m512i raw) {
    const __m512i bits =
        kCol == 0 ? _mm512_slli_epi32(raw, 16)
                  : _mm512_and_si512(raw, _mm512_set1_epi32(static_cast<int>(0xffff0000)));
    return _mm512_castsi512_ps(bits);
  }
};

struct F16 {
  static constexpr int kCols = 2;
  template <int kCol>
  [[gnu::always_inline]] static __m512 decode(__m512i raw) {
    const __m512i word = kCol == 0 ? raw : _mm512_srli_epi32(raw, 16);
    return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(word));
  }
};

// kCount rows of activations times kTiles tiles.
template <class Weights, int kCount, int kTiles>
class Pass {
 public:
  [[gnu::always_inline]] Pass(const TileRun& run, uint32_t tile) : run_(run), tile_(tile) {
    unrolled<kTiles>([&](auto n) {
      weights_[n] = run.tiles + (tile + static_cast<uint32_t>(n)) * run.tile_stride;
    });
    unrolled<kCount>([&](auto t) { rows_[t] = reinterpret_cast<const float*>(run.rows[t]); });
    each_sum([&](auto n, auto t) {
      sums_[n][t] = run.resume ? load_lanes(out(n, t), lanes(n)) : _mm512_setzero_ps();
    });
  }

  [[gnu::always_inline]] void run() {
    const uint32_t vectors = run_.cols / Weights::kCols;
    for (uint32_t v = 0; v < vectors; ++v) {
      unrolled<Weights::kCols>([&](auto c) { add_column<decltype(c)::value>(c); });
      unrolled<kTiles>([&](auto n) { weights_[n] += kVectorBytes; });
      at_ += Weights::kCols;
    }
    if (run_.cols % Weights::kCols != 0) add_column<0>(0);  // the rest of the vector is zero
    each_sum([&](auto n, auto t) { store_lanes(out(n, t), lanes(n), sums_[n][t]); });
  }

 private:
  template <class Body>
  [[gnu::always_inline]] static void each_sum(Body body) {
    unrolled<kTiles>([&](auto n) { unrolled<kCount>([&](auto t) { body(n, t); }); });
  }
  [[gnu::always_inline]] float* out(int n, int t) const {
    return run_.out + static_cast<size_t>(t) * run_.out_stride +
           (tile_ + static_cast<uint32_t>(n)) * size_t{kTileRows};
  }
  [[gnu::always_inline]] uint32_t lanes(int n) const {
    const uint32_t first = (tile_ + static_cast<uint32_t>(n)) * kTileRows;
    return run_.out_width > first ? run_.out_width - first : 0;
  }

  template <int kCol>
  [[gnu::always_inline]] void add_column(int k) {
    __m512 weight[kTiles];
    unrolled<kTiles>([&](auto n) {
      weight[n] = Weights::template decode<kCol>(_mm512_loadu_si512(weights_[n]));
    });
    unrolled<kCount>([&](auto t) {
      const __m512 activation = _mm512_set1_ps(rows_[t][at_ + static_cast<size_t>(k)]);
      unrolled<kTiles>(
          [&](auto n) { sums_[n][t] = _mm512_fmadd_ps(weight[n], activation, sums_[n][t]); });
    });
  }

  const TileRun& run_;
  const uint32_t tile_;
  const std::byte* weights_[kTiles];
  const float* rows_[kCount];
  size_t at_ = 0;  // activations done
  __m512 sums_[kTiles][kCount];
};

template <class Weights, int kCount>
[[gnu::flatten]] void run_rows(const TileRun& run) {
  constexpr int kTiles = kCount == 1 ? 4 : 2;
  uint32_t tile = 0;
  for (; tile + kTiles <= run.count; tile += kTiles) Pass<Weights, kCount, kTiles>(run, tile).run();
  for (; tile < run.count; ++tile) Pass<Weights, kCount, 1>(run, tile).run();
}

template <class Weights>
[[gnu::always_inline]] inline void run_format(const TileRun& run) {
  static constexpr void (*kRuns[kRows])(const TileRun&) = {
      run_rows<Weights, 1>, run_rows<Weights, 2>, run_rows<Weights, 3>, run_rows<Weights, 4>,
      run_rows<Weights, 5>, run_rows<Weights, 6>, run_rows<Weights, 7>, run_rows<Weights, 8>};
  kRuns[run.row_count - 1](run);
}

}  // namespace

void run_f32(const TileRun& run) { run_format<F32>(run); }
void run_f16(const TileRun& run) { run_format<F16>(run); }
void run_bf16(const TileRun& run) { run_format<Bf16>(run); }

}  // namespace smoe::cpu::avx512
