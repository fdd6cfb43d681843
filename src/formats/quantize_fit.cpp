#include "formats/quantize_fit.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace smoe {
namespace {

// Sums run in so many chains, which the compiler turns into vectors: without -ffast-math it may not
// reorder one.
constexpr size_t kChains = 8;
using Chains = std::array<float, kChains>;

double total(const Chains& chains) {
  double sum = 0;
  for (const float chain : chains) sum += static_cast<double>(chain);
  return sum;
}

// To nearest, for |value| < 2^22: adding 1.5 · 2^23 leaves no bits for a fraction.
float rounded(float value) {
  constexpr float kShift = 12582912.0F;
  return (value + kShift) - kShift;
}

float nearest_code(float value, float lowest, float highest) {
  return rounded(std::min(std::max(value, lowest), highest));
}

float extreme_of(std::span<const float> weights) {
  float extreme = 0;
  for (const float weight : weights)
    if (std::abs(weight) > std::abs(extreme)) extreme = weight;
  return extreme;
}

// For codes that are given, the best scale is Σwxc / Σwc², and it takes (Σwxc)² / Σwc² off the
// error of all zeros.
struct ScaleSums {
  double xc = 0;
  double cc = 0;

  double gain() const { return cc > 0 ? xc * xc / cc : 0; }
  float scale() const { return cc > 0 ? static_cast<float>(xc / cc) : 0; }
};

template <class CodeOf>
ScaleSums scale_sums(const Weighted& in, float inverse, const CodeOf& code_of) {
  Chains xc{};
  Chains cc{};
  for (size_t k = 0; k < in.weights.size(); k += kChains)
    for (size_t i = 0; i < kChains; ++i) {
      const float weight = in.weights[k + i];
      const float code = code_of(weight * inverse);
      const float counted = in.importance[k + i] * code;
      xc[i] += counted * weight;
      cc[i] += counted * code;
    }
  return {total(xc), total(cc)};
}

template <class CodeOf>
double scale_error(const Weighted& in, float scale, const CodeOf& code_of) {
  const float inverse = std::abs(scale) > kSmallestScale ? 1 / scale : 0;
  Chains sum{};
  for (size_t k = 0; k < in.weights.size(); k += kChains)
    for (size_t i = 0; i < kChains; ++i) {
      const float weight = in.weights[k + i];
      const float rest = weight - scale * code_of(weight * inverse);
      sum[i] += in.importance[k + i] * rest * rest;
    }
  return total(sum);
}

// Tries scales that put the largest weight near either end of the codes, then goes on from the best
// one: new codes, the best scale for them, and so on while it helps.
template <class CodeOf>
float search_scale(const Weighted& in, float lowest, float highest, float step,
                   const CodeOf& code_of) {
  constexpr int kSteps = 9;
  constexpr int kRefinements = 4;
  const float extreme = extreme_of(in.weights);
  if (std::abs(extreme) < kSmallestScale) return 0;
  ScaleSums best;
  const auto try_inverse = [&](float inverse) {
    const ScaleSums sums = scale_sums(in, inverse, code_of);
    if (sums.gain() <= best.gain()) return false;
    best = sums;
    return true;
  };
  for (const float end : {lowest, highest})
    for (int i = -kSteps; i <= kSteps; ++i)
      try_inverse((end + step * static_cast<float>(i)) / extreme);
  for (int i = 0; i < kRefinements; ++i)
    if (std::abs(best.scale()) < kSmallestScale || !try_inverse(1 / best.scale())) break;
  return best.scale();
}

struct AffineSums {
  double w = 0;
  double c = 0;
  double cc = 0;
  double x = 0;
  double xc = 0;

  // The best scale and offset for the codes of the sums. An offset above zero cannot be stored.
  Affine best() const {
    const double determinant = w * cc - c * c;
    double scale = determinant > 0 ? (w * xc - x * c) / determinant : 0;
    double offset = determinant > 0 ? (cc * x - c * xc) / determinant : w > 0 ? x / w : 0;
    if (offset > 0) {
      offset = 0;
      scale = cc > 0 ? xc / cc : 0;
    }
    return {static_cast<float>(std::max(scale, 0.0)), static_cast<float>(-offset)};
  }
};

AffineSums affine_sums(const Weighted& in, float base, float inverse, float highest) {
  Chains w{};
  Chains c{};
  Chains cc{};
  Chains x{};
  Chains xc{};
  for (size_t k = 0; k < in.weights.size(); k += kChains)
    for (size_t i = 0; i < kChains; ++i) {
      const float weight = in.weights[k + i];
      const float importance = in.importance[k + i];
      const float code = nearest_code((weight + base) * inverse, 0, highest);
      w[i] += importance;
      c[i] += importance * code;
      cc[i] += importance * code * code;
      x[i] += importance * weight;
      xc[i] += importance * weight * code;
    }
  return {total(w), total(c), total(cc), total(x), total(xc)};
}

}  // namespace

void nearest_codes(std::span<const float> weights, float scale, CodeRange range,
                   std::span<int8_t> codes) {
  const float inverse = std::abs(scale) > kSmallestScale ? 1 / scale : 0;
  const auto lowest = static_cast<float>(range.lowest);
  const auto highest = static_cast<float>(range.highest);
  for (size_t k = 0; k < weights.size(); ++k)
    codes[k] = static_cast<int8_t>(nearest_code(weights[k] * inverse, lowest, highest));
}

double error_of(const Weighted& in, float scale, CodeRange range) {
  return scale_error(
      in, scale,
      [lowest = static_cast<float>(range.lowest), highest = static_cast<float>(range.highest)](
          float value) { return nearest_code(value, lowest, highest); });
}

float fit_scale(const Weighted& in, CodeRange range) {
  const auto lowest = static_cast<float>(range.lowest);
  const auto highest = static_cast<float>(range.highest);
  return search_scale(in, lowest, highest, 0.1F, [lowest, highest](float value) {
    return nearest_code(value, lowest, highest);
  });
}

void nearest_codes(std::span<const float> weights, Affine affine, int highest,
                   std::span<int8_t> codes) {
  const float inverse = affine.scale > kSmallestScale ? 1 / affine.scale : 0;
  for (size_t k = 0; k < weights.size(); ++k)
    codes[k] = static_cast<int8_t>(
        nearest_code((weights[k] + affine.minimum) * inverse, 0, static_cast<float>(highest)));
}

double error_of(const Weighted& in, Affine affine, int highest) {
  const float inverse = affine.scale > kSmallestScale ? 1 / affine.scale : 0;
  const auto end = static_cast<float>(highest);
  Chains sum{};
  for (size_t k = 0; k < in.weights.size(); k += kChains)
    for (size_t i = 0; i < kChains; ++i) {
      const float weight = in.weights[k + i];
      const float code = nearest_code((weight + affine.minimum) * inverse, 0, end);
      const float rest = weight - (affine.scale * code - affine.minimum);
      sum[i] += in.importance[k + i] * rest * rest;
    }
  return total(sum);
}

Affine fit_affine(const Weighted& in, int highest) {
  constexpr int kSteps = 10;
  constexpr int kRefinements = 4;
  const auto [least, most] = std::minmax_element(in.weights.begin(), in.weights.end());
  const float base = std::max(-*least, 0.0F);
  const float range = *most + base;
  const auto end = static_cast<float>(highest);
  if (range < kSmallestScale) return {0, base};
  Affine best;
  double best_error = std::numeric_limits<double>::infinity();
  const auto try_affine = [&](Affine affine) {
    const double error = error_of(in, affine, highest);
    if (!(error < best_error)) return false;
    best = affine;
    best_error = error;
    return true;
  };
  for (int i = -kSteps; i <= kSteps; ++i) {
    const float inverse = (end + 0.1F * static_cast<float>(i)) / range;
    try_affine(affine_sums(in, base, inverse, end).best());
  }
  try_affine({range / end, base});
  for (int i = 0; i < kRefinements && best.scale > kSmallestScale; ++i)
    if (!try_affine(affine_sums(in, best.minimum, 1 / best.scale, end).best())) break;
  return best;
}

Affine fit_above(Affine start, const Weighted& in, int highest) {
  constexpr int kRefinements = 4;
  constexpr float kWider[] = {1, 1.04F, 1.08F, 1.12F};
  const auto end = static_cast<float>(highest);
  Affine best = start;
  double best_error = error_of(in, best, highest);
  const auto refine = [&](Affine from) {
    for (int i = 0; i < kRefinements && from.scale > kSmallestScale; ++i) {
      const AffineSums sums = affine_sums(in, from.minimum, 1 / from.scale, end);
      const double minimum = static_cast<double>(from.minimum);
      if (sums.cc > 0) from.scale = static_cast<float>((sums.xc + minimum * sums.c) / sums.cc);
      const double error = error_of(in, from, highest);
      if (!(error < best_error)) break;
      best = from;
      best_error = error;
    }
  };
  for (const float wider : kWider) refine({start.scale * wider, start.minimum});
  return best;
}

double error_of(const Weighted& in, float scale, const Codebook& codebook) {
  return scale_error(in, scale,
                     [&](float value) { return codebook.level(codebook.nearest(value)); });
}

float fit_scale(const Weighted& in, const Codebook& codebook) {
  return search_scale(in, codebook.level(0), codebook.level(15), 1.5F,
                      [&](float value) { return codebook.level(codebook.nearest(value)); });
}

}  // namespace smoe
