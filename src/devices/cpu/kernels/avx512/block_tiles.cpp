// Formats with blocks of 32 weights. VNNI's vpdpbusd multiplies four unsigned codes of each of 16
// rows with four activations and adds them up in 32 bits, which is how a tile's words lie; so every
// format's codes are made unsigned by an offset, and `total` takes it away again.
#include <cstddef>

#include "devices/cpu/kernels/avx2/quantized.h"
#include "devices/cpu/kernels/avx512/avx512.h"
#include "devices/cpu/kernels/avx512/lanes.h"

namespace smoe::cpu::avx512 {
namespace {

using avx2::kBytesOffset;
using avx2::kQuantizedBlockBytes;
using avx2::kScaleOffset;
using avx2::kSumsOffset;

constexpr int kGroups = kQuantBlock / 4;

[[gnu::always_inline]] inline __m512i load_bits(const std::byte* from) {
  return _mm512_loadu_si512(from);
}

[[gnu::always_inline]] inline __m512i broadcast_dword(const std::byte* from) {
  return _mm512_castps_si512(_mm512_set1_ps(*reinterpret_cast<const float*>(from)));
}

[[gnu::always_inline]] inline __m512 broadcast_float(const std::byte* from) {
  return _mm512_set1_ps(*reinterpret_cast<const float*>(from));
}

[[gnu::always_inline]] inline __m512 load_halves(const std::byte* from) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
}

// Group `group` of nibbles: low halves first, then high ones.
template <int kGroup>
[[gnu::always_inline]] inline __m512i nibbles(const std::byte* words) {
  const __m512i bytes = load_bits(words + kGroup % 4 * 64);
  const __m512i moved = kGroup < 4 ? bytes : _mm512_srli_epi16(bytes, 4);
  return _mm512_and_si512(moved, _mm512_set1_epi8(15));
}

// Bits 4 group to 4 group + 3 of each row's word, as bit 4 of a byte each.
template <int kGroup>
[[gnu::always_inline]] inline __m512i fifth_bits(const std::byte* words) {
  constexpr int kByte = kGroup / 2 * 0x01010101;
  const __m512i spread = _mm512_shuffle_epi8(
      load_bits(words), _mm512_broadcast_i32x4(_mm_setr_epi32(
                            kByte, kByte + 0x04040404, kByte + 0x08080808, kByte + 0x0c0c0c0c)));
  const __m512i own =
      _mm512_set1_epi32(kGroup % 2 == 0 ? 0x08040201 : static_cast<int>(0x80402010));
  return _mm512_maskz_set1_epi8(_mm512_test_epi8_mask(spread, own), 16);
}

// The value of each byte's lower half.
[[gnu::always_inline]] inline __m512i look_up(const uint8_t (&values)[16], __m512i codes) {
  const __m128i table = _mm_loadu_si128(reinterpret_cast<const __m128i*>(values));
  return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(table), codes);
}

// A scale, and nothing else in front of the words.
struct Scaled {
  static constexpr size_t kHeadBytes = 2;
  static constexpr uint32_t kUnitBlocks = 2;
  static constexpr bool kHasBases = false;
  [[gnu::always_inline]] static __m512 step(const std::byte* head) { return load_halves(head); }
};

// A scale and a minimum, side by side.
struct Based {
  static constexpr size_t kHeadBytes = 4;
  static constexpr uint32_t kUnitBlocks = 1;
  static constexpr bool kHasBases = true;
  static constexpr int kOffset = 0;
  [[gnu::always_inline]] static __m512 step(const std::byte* head) {
    return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(load_bits(head)));
  }
  [[gnu::always_inline]] static __m512 base(const std::byte* head) {
    return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(_mm512_srli_epi32(load_bits(head), 16)));
  }
};

struct Q8Zero : Scaled {
  static constexpr size_t kBlockBytes = 34;
  static constexpr int kOffset = 128;
  template <int kGroup>
  [[gnu::always_inline]] static __m512i codes(const std::byte* words) {
    return _mm512_xor_si512(load_bits(words + kGroup * 64), _mm512_set1_epi8(-128));
  }
};

struct Q4Zero : Scaled {
  static constexpr size_t kBlockBytes = 18;
  static constexpr int kOffset = 8;
  template <int kGroup>
  [[gnu::always_inline]] static __m512i codes(const std::byte* words) {
    return nibbles<kGroup>(words);
  }
};

struct Q5Zero : Scaled {
  static constexpr size_t kBlockBytes = 22;
  static constexpr int kOffset = 16;
  template <int kGroup>
  [[gnu::always_inline]] static __m512i codes(const std::byte* words) {
    return _mm512_or_si512(nibbles<kGroup>(words + 64), fifth_bits<kGroup>(words));
  }
};

struct Q4One : Based {
  static constexpr size_t kBlockBytes = 20;
  template <int kGroup>
  [[gnu::always_inline]] static __m512i codes(const std::byte* words) {
    return nibbles<kGroup>(words);
  }
};

struct Q5One : Based {
  static constexpr size_t kBlockBytes = 24;
  template <int kGroup>
  [[gnu::always_inline]] static __m512i codes(const std::byte* words) {
    return _mm512_or_si512(nibbles<kGroup>(words + 64), fifth_bits<kGroup>(words));
  }
};

struct Iq4Nl : Scaled {
  static constexpr size_t kBlockBytes = 18;
  static constexpr int kOffset = 127;
  // The levels, raised by kOffset.
  static constexpr uint8_t kLevels[16] = {0,   23,  44,  62,  78,  92,  105, 117,
                                          128, 140, 152, 165, 180, 196, 216, 240};
  template <int kGroup>
  [[gnu::always_inline]] static __m512i codes(const std::byte* words) {
    return look_up(kLevels, nibbles<kGroup>(words));
  }
};

struct Mxfp4 : Scaled {
  static constexpr size_t kBlockBytes = 17;
  static constexpr size_t kHeadBytes = 1;
  static constexpr uint32_t kUnitBlocks = 4;
  static constexpr int kOffset = 12;
  static constexpr uint8_t kLevels[16] = {12, 13, 14, 15, 16, 18, 20, 24,
                                          12, 11, 10, 9,  8,  6,  4,  0};
  template <int kGroup>
  [[gnu::always_inline]] static __m512i codes(const std::byte* words) {
    return look_up(kLevels, nibbles<kGroup>(words));
  }
  // 2^(exponent - 128); the two smallest are subnormal.
  [[gnu::always_inline]] static __m512 step(const std::byte* head) {
    const __m512i exponent =
        _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(head)));
    const __m512i normal = _mm512_slli_epi32(_mm512_sub_epi32(exponent, _mm512_set1_epi32(1)), 23);
    const __m512i tiny = _mm512_sllv_epi32(_mm512_set1_epi32(0x00200000), exponent);
    const __mmask16 is_tiny = _mm512_cmplt_epi32_mask(exponent, _mm512_set1_epi32(2));
    return _mm512_castsi512_ps(_mm512_mask_blend_epi32(is_tiny, normal, tiny));
  }
};

// kCount rows of activations times kTiles tiles.
template <class Source, int kCount, int kTiles>
class BlockPass {
 public:
  [[gnu::always_inline]] BlockPass(const TileRun& run, uint32_t tile) : run_(run), tile_(tile) {
    unrolled<kTiles>([&](auto n) {
      weights_[n] = run.tiles + (tile + static_cast<uint32_t>(n)) * run.tile_stride;
    });
    unrolled<kCount>([&](auto t) { rows_[t] = run.rows[t]; });
    unrolled<kTiles>([&](auto n) {
      unrolled<kCount>([&](auto t) {
        sums_[n][t] = run.resume ? load_lanes(out(n, t), lanes(n)) : _mm512_setzero_ps();
      });
    });
  }

  [[gnu::always_inline]] void run() {
    const uint32_t blocks = run_.cols / kQuantBlock;
    for (uint32_t block = 0; block < blocks; ++block) {
      const size_t inside = block % Source::kUnitBlocks;
      unrolled<kTiles>([&](auto n) {
        add_block<n>(weights_[n] + inside * kTileRows * Source::kHeadBytes,
                     weights_[n] + 64 + inside * kWordBytes);
      });
      at_ += kQuantizedBlockBytes;
      if (inside + 1 == Source::kUnitBlocks)
        unrolled<kTiles>([&](auto n) { weights_[n] += kUnitBytes; });
    }
    unrolled<kTiles>([&](auto n) {
      unrolled<kCount>([&](auto t) { store_lanes(out(n, t), lanes(n), sums_[n][t]); });
    });
  }

 private:
  static constexpr size_t kWordBytes =
      size_t{kTileRows} * (Source::kBlockBytes - Source::kHeadBytes);
  static constexpr size_t kUnitBytes = 64 + Source::kUnitBlocks * kWordBytes;
  static_assert(Source::kUnitBlocks * kTileRows * Source::kHeadBytes == 64);

  [[gnu::always_inline]] float* out(int n, int t) const {
    return run_.out + static_cast<size_t>(t) * run_.out_stride +
           (tile_ + static_cast<uint32_t>(n)) * size_t{kTileRows};
  }
  [[gnu::always_inline]] uint32_t lanes(int n) const {
    const uint32_t first = (tile_ + static_cast<uint32_t>(n)) * kTileRows;
    return run_.out_width > first ? run_.out_width - first : 0;
  }

  template <int kTile>
  [[gnu::always_inline]] void add_block(const std::byte* head, const std::byte* words) {
    __m512i dots[kCount];
    unrolled<kCount>([&](auto t) { dots[t] = _mm512_setzero_si512(); });
    unrolled<kGroups>([&](auto group) {
      constexpr int kGroup = decltype(group)::value;
      const __m512i codes = Source::template codes<kGroup>(words);
      unrolled<kCount>([&](auto t) {
        dots[t] = _mm512_dpbusd_epi32(dots[t], codes,
                                      broadcast_dword(rows_[t] + at_ + kBytesOffset + kGroup * 4));
      });
    });
    const __m512 step = Source::step(head);
    unrolled<kCount>([&](auto t) {
      const std::byte* activation = rows_[t] + at_;
      const __m512i total = broadcast_dword(activation + kSumsOffset + 8);
      if constexpr (Source::kOffset != 0) {
        const __m512i excess = _mm512_mullo_epi32(total, _mm512_set1_epi32(Source::kOffset));
        dots[t] = _mm512_sub_epi32(dots[t], excess);
      }
      const __m512 scale = broadcast_float(activation + kScaleOffset);
      __m512& sum = sums_[kTile][t];
      sum = _mm512_fmadd_ps(_mm512_mul_ps(step, scale), _mm512_cvtepi32_ps(dots[t]), sum);
      if constexpr (Source::kHasBases)
        sum = _mm512_fmadd_ps(Source::base(head), _mm512_mul_ps(scale, _mm512_cvtepi32_ps(total)),
                              sum);
    });
  }

  const TileRun& run_;
  const uint32_t tile_;
  const std::byte* weights_[kTiles];
  const std::byte* rows_[kCount];
  size_t at_ = 0;  // bytes of activations done
  __m512 sums_[kTiles][kCount];
};

template <class Source, int kCount>
[[gnu::flatten]] void run_rows(const TileRun& run) {
  constexpr int kTiles = kCount <= 4 ? 2 : 1;
  uint32_t tile = 0;
  for (; tile + kTiles <= run.count; tile += kTiles)
    BlockPass<Source, kCount, kTiles>(run, tile).run();
  if constexpr (kTiles > 1) {
    for (; tile < run.count; ++tile) BlockPass<Source, kCount, 1>(run, tile).run();
  }
}

template <class Source>
[[gnu::always_inline]] inline void run_source(const TileRun& run) {
  static constexpr void (*kRuns[kRows])(const TileRun&) = {
      run_rows<Source, 1>, run_rows<Source, 2>, run_rows<Source, 3>, run_rows<Source, 4>,
      run_rows<Source, 5>, run_rows<Source, 6>, run_rows<Source, 7>, run_rows<Source, 8>};
  kRuns[run.row_count - 1](run);
}

}  // namespace

void run_q8_0(const TileRun& run) { run_source<Q8Zero>(run); }
void run_q4_0(const TileRun& run) { run_source<Q4Zero>(run); }
void run_q4_1(const TileRun& run) { run_source<Q4One>(run); }
void run_q5_0(const TileRun& run) { run_source<Q5Zero>(run); }
void run_q5_1(const TileRun& run) { run_source<Q5One>(run); }
void run_iq4_nl(const TileRun& run) { run_source<Iq4Nl>(run); }
void run_mxfp4(const TileRun& run) { run_source<Mxfp4>(run); }

}  // namespace smoe::cpu::avx512
