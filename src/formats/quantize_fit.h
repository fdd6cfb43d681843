// Scales for a few weights, found by search: what the quantisers (formats/quantize.h) are made of.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace smoe {

// Weights and how much an error in each counts. Sizes: equal, a multiple of 8. Importances are not
// negative, and not all of them are zero.
struct Weighted {
  std::span<const float> weights;
  std::span<const float> importance;

  Weighted part(size_t first, size_t count) const {
    return {weights.subspan(first, count), importance.subspan(first, count)};
  }
};

// Codes are whole numbers from lowest to highest.
struct CodeRange {
  int lowest;
  int highest;
};

// Below this magnitude a scale's inverse may be infinite: all codes are then zero.
inline constexpr float kSmallestScale = 1e-30F;

// weight ~ scale · code. An error is Σ importance · (weight - scale · code)², codes being the
// nearest ones.
void nearest_codes(std::span<const float> weights, float scale, CodeRange range,
                   std::span<int8_t> codes);
double error_of(const Weighted& in, float scale, CodeRange range);
// The scale (of either sign) with the least error that the search finds; 0 for zeros.
float fit_scale(const Weighted& in, CodeRange range);

// weight ~ scale · code - minimum, codes from 0 to `highest`, neither number negative.
struct Affine {
  float scale = 0;
  float minimum = 0;
};
void nearest_codes(std::span<const float> weights, Affine affine, int highest,
                   std::span<int8_t> codes);
double error_of(const Weighted& in, Affine affine, int highest);
Affine fit_affine(const Weighted& in, int highest);
// The best scale for a minimum that is fixed, going on from `start`.
Affine fit_above(Affine start, const Weighted& in, int highest);

// 16 levels that are no even steps. Levels and the middles between them are multiples of a half, so
// that a table of half steps knows the nearest one.
class Codebook {
 public:
  constexpr explicit Codebook(const std::array<int8_t, 16>& levels) : levels_(levels) {
    for (size_t cell = 0; cell < nearest_.size(); ++cell) {
      const int twice = static_cast<int>(cell) * 2 - kCells + 1;  // four times the cell's middle
      int best = 1 << 20;
      for (size_t code = 0; code < levels.size(); ++code) {
        const int away = twice - 4 * levels[code];
        if ((away < 0 ? -away : away) >= best) continue;
        best = away < 0 ? -away : away;
        nearest_[cell] = static_cast<uint8_t>(code);
      }
    }
  }
  // `value` is a weight divided by the scale.
  uint8_t nearest(float value) const {
    constexpr float kEnd = kCells / 4.0F - 0.25F;
    const float inside = value < -kEnd ? -kEnd : value > kEnd ? kEnd : value;
    return nearest_[static_cast<size_t>(inside * 2 + kCells / 2.0F)];
  }
  float level(uint8_t code) const { return levels_[code]; }

 private:
  static constexpr int kCells = 512;  // from -128 to 128
  std::array<int8_t, 16> levels_;
  std::array<uint8_t, kCells> nearest_{};
};

double error_of(const Weighted& in, float scale, const Codebook& codebook);
float fit_scale(const Weighted& in, const Codebook& codebook);

}  // namespace smoe
