// Blocks of 32 with one scale.
#include "formats/quantize_blocks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/floats.h"
#include "base/unaligned.h"
#include "formats/dequantize.h"

namespace smoe {
namespace {

constexpr size_t kBlockWeights = 32;
using Codes = std::array<int8_t, kBlockWeights>;

// Stores an fp16 scale and returns what it decodes to.
float store_half(std::byte* to, float value) {
  const uint16_t half = float_to_f16(value);
  store(to, half);
  return f16_to_float(half);
}

// Weight j in the low half of byte j, weight j + 16 in its high half.
void store_nibbles(std::byte* to, const Codes& codes) {
  for (size_t j = 0; j < kBlockWeights / 2; ++j)
    to[j] = static_cast<std::byte>((codes[j] & 15) | (codes[j + kBlockWeights / 2] & 15) << 4);
}

// Half away from zero, as ggml rounds.
int8_t round_away(float value) {
  const auto whole = static_cast<int32_t>(value);
  const float rest = value - static_cast<float>(whole);  // exact
  return static_cast<int8_t>(whole + (rest >= 0.5F ? 1 : 0) - (rest <= -0.5F ? 1 : 0));
}

// Of a scale and its neighbours in fp16 the best one: rounding alone may move it the wrong way.
template <class ErrorOf>
float best_half(float scale, const ErrorOf& error_of_scale) {
  const uint16_t middle = float_to_f16(scale);
  float best = f16_to_float(middle);
  if (!std::isfinite(best)) return best;  // the neighbour would clip the weights without a word
  double least = error_of_scale(best);
  for (const int step : {-1, 1}) {
    const float other = f16_to_float(static_cast<uint16_t>(middle + step));
    if (std::signbit(other) != std::signbit(scale) || !std::isfinite(other)) continue;
    const double error = error_of_scale(other);
    if (error >= least) continue;
    least = error;
    best = other;
  }
  return best;
}

// The offset is 8 or 16: codes are stored without a sign.
bool fit_symmetric(const Weighted& in, int offset, std::byte* scale_to, Codes& codes) {
  const CodeRange range{-offset, offset - 1};
  const float fitted = fit_scale(in, range);
  const float scale = best_half(fitted, [&](float half) { return error_of(in, half, range); });
  store_half(scale_to, scale);
  nearest_codes(in.weights, scale, range, codes);
  for (int8_t& code : codes) code = static_cast<int8_t>(code + offset);
  return std::isfinite(scale);
}

uint32_t high_bits(const Codes& codes) {
  uint32_t high = 0;
  for (size_t k = 0; k < kBlockWeights; ++k)
    high |= (static_cast<uint32_t>(codes[k]) >> 4U & 1U) << k;
  return high;
}

constexpr Codebook kIq4Book(kIq4Values);
constexpr Codebook kMxfp4Book(kMxfp4Values);

void store_book_codes(const Weighted& in, float scale, const Codebook& book, std::byte* to) {
  const float inverse = std::abs(scale) > kSmallestScale ? 1 / scale : 0;
  Codes codes{};
  for (size_t k = 0; k < kBlockWeights; ++k)
    codes[k] = static_cast<int8_t>(book.nearest(in.weights[k] * inverse));
  store_nibbles(to, codes);
}

}  // namespace

// The codes of ggml's own quantiser: with 8 bits a search gains nothing that a model would notice.
bool quantize_q8_0(const Weighted& in, std::byte* out) {
  float largest = 0;
  for (const float weight : in.weights) largest = std::max(largest, std::abs(weight));
  const float step = largest / 127;
  float inverse = step != 0 ? 1 / step : 0;
  // A step below 2^-128 has no finite inverse; its fp16 scale is zero, whatever the codes.
  if (!std::isfinite(inverse)) inverse = 0;
  for (size_t k = 0; k < kBlockWeights; ++k)
    store(out + 2 + k, round_away(in.weights[k] * inverse));
  return std::isfinite(store_half(out, step));
}

bool quantize_q4_0(const Weighted& in, std::byte* out) {
  Codes codes{};
  if (!fit_symmetric(in, 8, out, codes)) return false;
  store_nibbles(out + 2, codes);
  return true;
}

bool quantize_q5_0(const Weighted& in, std::byte* out) {
  Codes codes{};
  if (!fit_symmetric(in, 16, out, codes)) return false;
  store(out + 2, high_bits(codes));
  store_nibbles(out + 6, codes);
  return true;
}

bool quantize_q5_1(const Weighted& in, std::byte* out) {
  // The stored minimum may have either sign: weights that are all positive are moved to zero first.
  const float base = *std::min_element(in.weights.begin(), in.weights.end());
  std::array<float, kBlockWeights> moved;
  for (size_t k = 0; k < kBlockWeights; ++k) moved[k] = in.weights[k] - std::max(base, 0.0F);
  const Affine fitted = fit_affine({moved, in.importance}, 31);
  const float minimum = store_half(out + 2, std::max(base, 0.0F) - fitted.minimum);
  const float scale = best_half(fitted.scale, [&](float half) {
    return error_of(in, Affine{half, -minimum}, 31);
  });
  if (!std::isfinite(scale) || !std::isfinite(minimum)) return false;
  store_half(out, scale);
  Codes codes{};
  nearest_codes(in.weights, Affine{scale, -minimum}, 31, codes);
  store(out + 4, high_bits(codes));
  store_nibbles(out + 8, codes);
  return true;
}

bool quantize_iq4_nl(const Weighted& in, std::byte* out) {
  const float scale =
      best_half(fit_scale(in, kIq4Book), [&](float half) { return error_of(in, half, kIq4Book); });
  store_half(out, scale);
  store_book_codes(in, scale, kIq4Book, out + 2);
  return std::isfinite(scale);
}

// The scale is a power of two: three of them can be the best one. Weights are brought near 1 for
// the search, where their squares fit a float.
bool quantize_mxfp4(const Weighted& in, std::byte* out) {
  float largest = 0;
  for (const float weight : in.weights) largest = std::max(largest, std::abs(weight));
  if (largest == 0) return true;
  const int size = std::ilogb(largest);
  std::array<float, kBlockWeights> near_one;
  for (size_t k = 0; k < kBlockWeights; ++k) near_one[k] = std::ldexp(in.weights[k], -size);
  const Weighted moved{near_one, in.importance};
  // OCP's rule puts the largest weight's exponent at that of the largest level, 6 (here 12).
  const int middle = size - 2 + 127;
  int best = 0;
  double least = HUGE_VAL;
  for (int exponent = middle - 1; exponent <= middle + 1; ++exponent) {
    const int legal = std::clamp(exponent, 0, 254);
    const double error = error_of(moved, std::ldexp(1.0F, legal - 128 - size), kMxfp4Book);
    if (error >= least) continue;
    least = error;
    best = legal;
  }
  store(out, static_cast<uint8_t>(best));
  store_book_codes(moved, std::ldexp(1.0F, best - 128 - size), kMxfp4Book, out + 1);
  return true;
}

}  // namespace smoe
