// Blocks of 256 whose parts have scales that are quantised, too.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/floats.h"
#include "base/unaligned.h"
#include "formats/dequantize.h"
#include "formats/quantize_blocks.h"

namespace smoe {
namespace {

constexpr size_t kSuperblockWeights = 256;
constexpr int kRounds = 3;  // of: choose the parts' scales, fit the block's scale to them
using SuperblockCodes = std::array<int8_t, kSuperblockWeights>;

float as_half(float value) { return f16_to_float(float_to_f16(value)); }

// weight ~ all · scales[part] · code, in 16 parts of 16.
struct Signed {
  static constexpr size_t kParts = 16;
  static constexpr size_t kPart = 16;
  float all = 0;
  std::array<int, kParts> scales{};
  double error = HUGE_VAL;
};

Weighted part_of(const Weighted& in, size_t part) {
  return in.part(part * Signed::kPart, Signed::kPart);
}

// Scales of the block from which the search starts: the smallest that reaches the largest scale of
// a part, and wider ones, which may suit the other parts better.
constexpr float kWider[] = {1, 1.03F, 1.07F};

// A part of nearly equal weights is met by several codes, each with a scale of its own: one of
// these multiples of the wanted scale may lie nearer to a step of the block's scale.
constexpr float kMultiples[] = {-1, 4.0F / 3, -4.0F / 3, 2, -2, 4, -4};

// The scales of a part worth trying: the wanted one, its neighbours, and with few codes the
// nearest ones to its multiples.
struct Candidates {
  std::array<int, 3 + std::size(kMultiples)> scales{};
  size_t count = 0;

  Candidates(float target, CodeRange codes, CodeRange range) {
    const auto lowest = static_cast<float>(range.lowest);
    const auto highest = static_cast<float>(range.highest);
    const auto middle = static_cast<int>(std::lround(std::clamp(target, lowest, highest)));
    for (int scale = std::max(middle - 1, range.lowest);
         scale <= std::min(middle + 1, range.highest); ++scale)
      scales[count++] = scale;
    if (codes.highest - codes.lowest >= 16) return;
    for (const float multiple : kMultiples)
      if (const float other = target * multiple; other >= lowest && other <= highest)
        scales[count++] = static_cast<int>(std::lround(other));
  }
};

// For a given scale of the block, the best scale of each part.
Signed with_scales(const Weighted& in, float all, const std::array<float, Signed::kParts>& wanted,
                   CodeRange codes, CodeRange scales) {
  Signed result;
  result.all = all;
  result.error = 0;
  const float inverse = std::abs(all) > kSmallestScale ? 1 / all : 0;
  for (size_t part = 0; part < Signed::kParts; ++part) {
    const Candidates candidates(wanted[part] * inverse, codes, scales);
    double least = HUGE_VAL;
    for (size_t i = 0; i < candidates.count; ++i) {
      const int scale = candidates.scales[i];
      const double error = error_of(part_of(in, part), all * static_cast<float>(scale), codes);
      if (error >= least) continue;
      least = error;
      result.scales[part] = scale;
    }
    result.error += least;
  }
  return result;
}

void set_codes(const Weighted& in, const Signed& fit, CodeRange range, SuperblockCodes& codes) {
  for (size_t part = 0; part < Signed::kParts; ++part)
    nearest_codes(part_of(in, part).weights, fit.all * static_cast<float>(fit.scales[part]), range,
                  std::span(codes).subspan(part * Signed::kPart, Signed::kPart));
}

// The best scale of the block for codes and scales of parts that are given.
float refit(const Weighted& in, const Signed& fit, CodeRange range) {
  SuperblockCodes codes{};
  set_codes(in, fit, range, codes);
  double xc = 0;
  double cc = 0;
  for (size_t k = 0; k < kSuperblockWeights; ++k) {
    const double code = static_cast<double>(codes[k]) * fit.scales[k / Signed::kPart];
    const double counted = static_cast<double>(in.importance[k]) * code;
    xc += counted * static_cast<double>(in.weights[k]);
    cc += counted * code;
  }
  return cc > 0 ? static_cast<float>(xc / cc) : 0;
}

Signed fit_signed(const Weighted& in, CodeRange codes, CodeRange scales) {
  std::array<float, Signed::kParts> wanted{};
  float extreme = 0;
  for (size_t part = 0; part < Signed::kParts; ++part) {
    wanted[part] = fit_scale(part_of(in, part), codes);
    if (std::abs(wanted[part]) > std::abs(extreme)) extreme = wanted[part];
  }
  Signed best;
  for (const float wider : kWider) {
    // The largest scale takes the end that reaches further.
    float all = as_half(wider * extreme / static_cast<float>(scales.lowest));
    if (!std::isfinite(all)) {  // the caller refuses the weights
      best.all = all;
      break;
    }
    Signed found = with_scales(in, all, wanted, codes, scales);
    for (int round = 0; round < kRounds && std::isfinite(all); ++round) {
      all = as_half(refit(in, found, codes));
      const Signed next = with_scales(in, all, wanted, codes, scales);
      if (!(next.error < found.error)) break;
      found = next;
    }
    if (found.error < best.error) best = found;
  }
  return best;
}

// weight ~ scale · scales[part] · code - minimum · minima[part], in 8 parts of 32.
struct Unsigned {
  static constexpr size_t kParts = 8;
  static constexpr size_t kPart = 32;
  static constexpr int kHighest = 63;  // of both
  Affine all;
  std::array<int, kParts> scales{};
  std::array<int, kParts> minima{};
  double error = HUGE_VAL;

  Affine of_part(size_t part) const {
    return {all.scale * static_cast<float>(scales[part]),
            all.minimum * static_cast<float>(minima[part])};
  }
};

Weighted affine_part(const Weighted& in, size_t part) {
  return in.part(part * Unsigned::kPart, Unsigned::kPart);
}

int nearest_to(float wanted, float step) {
  const float inverse = step > kSmallestScale ? 1 / step : 0;
  const float target = std::clamp(wanted * inverse, 0.0F, static_cast<float>(Unsigned::kHighest));
  return static_cast<int>(std::lround(target));
}

// The best scale and minimum of a part: the nearest ones or their neighbours. Without minima the
// largest weight of a part may take any of the upper codes, each with a scale of its own.
void choose_part(const Weighted& in, Affine wanted, int highest, size_t part, Unsigned& fit) {
  const int scale = nearest_to(wanted.scale, fit.all.scale);
  const int minimum = nearest_to(wanted.minimum, fit.all.minimum);
  const int minima = fit.all.minimum > 0 ? 1 : 0;
  const int scales = fit.all.minimum > 0 ? 1 : 6;
  double least = HUGE_VAL;
  for (int s = std::max(scale - scales, 0); s <= std::min(scale + scales, Unsigned::kHighest); ++s)
    for (int m = std::max(minimum - minima, 0); m <= std::min(minimum + minima, Unsigned::kHighest);
         ++m) {
      const Affine affine{fit.all.scale * static_cast<float>(s),
                          fit.all.minimum * static_cast<float>(m)};
      const double error = error_of(in, affine, highest);
      if (error >= least) continue;
      least = error;
      fit.scales[part] = s;
      fit.minima[part] = m;
    }
  fit.error += least;
}

Unsigned with_scales(const Weighted& in, Affine all,
                     const std::array<Affine, Unsigned::kParts>& wanted, int highest) {
  Unsigned result;
  result.all = all;
  result.error = 0;
  for (size_t part = 0; part < Unsigned::kParts; ++part)
    choose_part(affine_part(in, part), wanted[part], highest, part, result);
  return result;
}

void set_codes(const Weighted& in, const Unsigned& fit, int highest, SuperblockCodes& codes) {
  for (size_t part = 0; part < Unsigned::kParts; ++part)
    nearest_codes(affine_part(in, part).weights, fit.of_part(part), highest,
                  std::span(codes).subspan(part * Unsigned::kPart, Unsigned::kPart));
}

Affine refit(const Weighted& in, const Unsigned& fit, int highest) {
  SuperblockCodes codes{};
  set_codes(in, fit, highest, codes);
  double ss = 0;
  double sm = 0;
  double mm = 0;
  double xs = 0;
  double xm = 0;
  for (size_t k = 0; k < kSuperblockWeights; ++k) {
    const size_t part = k / Unsigned::kPart;
    const double s = static_cast<double>(codes[k]) * fit.scales[part];
    const double m = -fit.minima[part];
    const auto w = static_cast<double>(in.importance[k]);
    const auto x = static_cast<double>(in.weights[k]);
    ss += w * s * s;
    sm += w * s * m;
    mm += w * m * m;
    xs += w * x * s;
    xm += w * x * m;
  }
  const double determinant = ss * mm - sm * sm;
  if (!(determinant > 0)) return {ss > 0 ? static_cast<float>(xs / ss) : 0, fit.all.minimum};
  return {static_cast<float>((xs * mm - xm * sm) / determinant),
          static_cast<float>((xm * ss - xs * sm) / determinant)};
}

Affine as_halves(Affine affine) {
  return {as_half(std::max(affine.scale, 0.0F)), as_half(std::max(affine.minimum, 0.0F))};
}

bool is_finite(Affine affine) {
  return std::isfinite(affine.scale) && std::isfinite(affine.minimum);
}

// The best affine of a part whose minimum is one of the block's steps: a minimum that is rounded by
// several codes asks for a larger scale, which the block's scale must leave room for.
Affine with_minimum_step(const Weighted& in, Affine wanted, float step, int highest) {
  const int middle = nearest_to(wanted.minimum, step);
  Affine best;
  double least = HUGE_VAL;
  for (int m = std::max(middle - 1, 0); m <= std::min(middle + 1, Unsigned::kHighest); ++m) {
    const Affine fitted = fit_above({wanted.scale, step * static_cast<float>(m)}, in, highest);
    const double error = error_of(in, fitted, highest);
    if (error >= least) continue;
    least = error;
    best = fitted;
  }
  return best;
}

// Goes on from scales of the block while that helps.
Unsigned fit_from(const Weighted& in, Affine all,
                  const std::array<Affine, Unsigned::kParts>& wanted, int highest) {
  Unsigned best = with_scales(in, all, wanted, highest);
  for (int round = 0; round < kRounds && is_finite(all); ++round) {
    all = as_halves(refit(in, best, highest));
    const Unsigned next = with_scales(in, all, wanted, highest);
    if (!(next.error < best.error)) break;
    best = next;
  }
  return best;
}

Unsigned fit_unsigned(const Weighted& in, int highest) {
  std::array<Affine, Unsigned::kParts> wanted;
  Affine all;
  for (size_t part = 0; part < Unsigned::kParts; ++part) {
    wanted[part] = fit_affine(affine_part(in, part), highest);
    all.minimum = std::max(all.minimum, wanted[part].minimum / Unsigned::kHighest);
  }
  all.minimum = as_half(all.minimum);
  for (size_t part = 0; part < Unsigned::kParts; ++part) {
    wanted[part] = with_minimum_step(affine_part(in, part), wanted[part], all.minimum, highest);
    all.scale = std::max(all.scale, wanted[part].scale / Unsigned::kHighest);
  }
  Unsigned best = fit_from(in, as_halves(all), wanted, highest);
  if (all.minimum > 0) return best;
  // Without minima (weights that are all positive: rare) the scale alone must fit, so more are
  // tried.
  for (const float wider : {1.01F, 1.02F, 1.03F, 1.05F, 1.07F}) {
    const Unsigned other = fit_from(in, as_halves({wider * all.scale, 0}), wanted, highest);
    if (other.error < best.error) best = other;
  }
  return best;
}

// scale_and_minimum (formats/dequantize.h) the other way round.
void store_scales(const Unsigned& fit, std::byte* to) {
  for (size_t part = 0; part < Unsigned::kParts; ++part) {
    const auto scale = static_cast<unsigned>(fit.scales[part]);
    const auto minimum = static_cast<unsigned>(fit.minima[part]);
    if (part < 4) {
      to[part] |= static_cast<std::byte>(scale);
      to[part + 4] |= static_cast<std::byte>(minimum);
    } else {
      to[part + 4] |= static_cast<std::byte>((scale & 15U) | (minimum & 15U) << 4U);
      to[part - 4] |= static_cast<std::byte>(scale >> 4U << 6U);
      to[part] |= static_cast<std::byte>(minimum >> 4U << 6U);
    }
  }
}

// d, dmin and the scales of Q4_K and Q5_K.
void store_head(const Unsigned& fit, std::byte* out) {
  store(out, float_to_f16(fit.all.scale));
  store(out + 2, float_to_f16(fit.all.minimum));
  store_scales(fit, out + 4);
}

unsigned code_at(const SuperblockCodes& codes, size_t k, int offset = 0) {
  return static_cast<unsigned>(codes[k] + offset);
}

void store_low_halves(const SuperblockCodes& codes, std::byte* to) {
  for (size_t k = 0; k < kSuperblockWeights; ++k)
    to[k / 64 * 32 + k % 32] |=
        static_cast<std::byte>((code_at(codes, k) & 15U) << (k / 32 % 2 * 4));
}

}  // namespace

bool quantize_q4_k(const Weighted& in, std::byte* out) {
  const Unsigned fit = fit_unsigned(in, 15);
  if (!is_finite(fit.all)) return false;
  SuperblockCodes codes{};
  set_codes(in, fit, 15, codes);
  store_low_halves(codes, out + 16);
  store_head(fit, out);
  return true;
}

bool quantize_q5_k(const Weighted& in, std::byte* out) {
  const Unsigned fit = fit_unsigned(in, 31);
  if (!is_finite(fit.all)) return false;
  SuperblockCodes codes{};
  set_codes(in, fit, 31, codes);
  for (size_t k = 0; k < kSuperblockWeights; ++k)
    out[16 + k % 32] |= static_cast<std::byte>(code_at(codes, k) >> 4U << (k / 32));
  store_low_halves(codes, out + 48);
  store_head(fit, out);
  return true;
}

bool quantize_q6_k(const Weighted& in, std::byte* out) {
  const Signed fit = fit_signed(in, {-32, 31}, {-128, 127});
  if (!std::isfinite(fit.all)) return false;
  SuperblockCodes codes{};
  set_codes(in, fit, {-32, 31}, codes);
  for (size_t k = 0; k < kSuperblockWeights; ++k) {
    const unsigned code = code_at(codes, k, 32);
    const size_t half = k / 128;
    const size_t quarter = k % 128 / 32;
    out[half * 64 + quarter % 2 * 32 + k % 32] |=
        static_cast<std::byte>((code & 15U) << (quarter / 2 * 4));
    out[128 + half * 32 + k % 32] |= static_cast<std::byte>(code >> 4U << (quarter * 2));
  }
  for (size_t part = 0; part < Signed::kParts; ++part)
    store(out + 192 + part, static_cast<int8_t>(fit.scales[part]));
  store(out + 208, float_to_f16(fit.all));
  return true;
}

bool quantize_q3_k(const Weighted& in, std::byte* out) {
  const Signed fit = fit_signed(in, {-4, 3}, {-32, 31});
  if (!std::isfinite(fit.all)) return false;
  SuperblockCodes codes{};
  set_codes(in, fit, {-4, 3}, codes);
  for (size_t k = 0; k < kSuperblockWeights; ++k) {
    const unsigned code = code_at(codes, k, 4);
    out[k % 32] |= static_cast<std::byte>(code >> 2U << (k / 32));
    out[32 + k / 128 * 32 + k % 32] |= static_cast<std::byte>((code & 3U) << (k % 128 / 32 * 2));
  }
  for (size_t part = 0; part < Signed::kParts; ++part) {
    const auto scale = static_cast<unsigned>(fit.scales[part] + 32);
    out[96 + part % 8] |= static_cast<std::byte>((scale & 15U) << (part / 8 * 4));
    out[96 + 8 + part % 4] |= static_cast<std::byte>(scale >> 4U << (part / 4 * 2));
  }
  store(out + 108, float_to_f16(fit.all));
  return true;
}

}  // namespace smoe
