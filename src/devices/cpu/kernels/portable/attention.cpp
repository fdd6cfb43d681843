#include <bit>
#include <cmath>
#include <limits>

#include "devices/cpu/kernels/exponential.h"
#include "devices/cpu/kernels/portable/portable.h"

namespace smoe::cpu::portable {

float exponential(float x) {
  if (x < kExpLowest) return 0.0F;
  if (x > kExpHighest) return std::numeric_limits<float>::infinity();
  const float shifted = std::fma(x, kExpLog2E, kExpRound);
  const float n = shifted - kExpRound;
  float r = std::fma(n, -kExpLn2High, x);
  r = std::fma(n, -kExpLn2Low, r);
  float sum = kExpC6;
  sum = std::fma(sum, r, kExpC5);
  sum = std::fma(sum, r, kExpC4);
  sum = std::fma(sum, r, kExpC3);
  sum = std::fma(sum, r, kExpC2);
  sum = std::fma(sum, r, 1.0F);
  sum = std::fma(sum, r, 1.0F);
  const uint32_t whole = std::bit_cast<uint32_t>(shifted) - std::bit_cast<uint32_t>(kExpRound);
  return sum * std::bit_cast<float>((whole + 127U) << 23);
}

// Online softmax (Milakov and Gimelshein 2018) in steps of 32 positions.
float softmax_step(float* scores, uint32_t positions, SoftmaxState& state) {
  float maximum = state.maximum;
  for (uint32_t i = 0; i < positions; ++i) maximum = scores[i] > maximum ? scores[i] : maximum;
  for (uint32_t i = 0; i < kStepPositions; ++i)
    scores[i] = i < positions ? exponential(scores[i] - maximum) : 0.0F;

  // The sum halves 32 numbers five times, which every vector width can do.
  float halves[kStepPositions / 2];
  for (uint32_t i = 0; i < kStepPositions / 2; ++i)
    halves[i] = scores[i] + scores[i + kStepPositions / 2];
  for (uint32_t half = kStepPositions / 4; half > 0; half /= 2) {
    for (uint32_t i = 0; i < half; ++i) halves[i] = halves[i] + halves[i + half];
  }

  const float rescale = exponential(state.maximum - maximum);
  state.sum = std::fma(state.sum, rescale, halves[0]);
  state.maximum = maximum;
  return rescale;
}

void add_values(const ValueRun& run) {
  for (uint32_t row = 0; row < run.row_count; ++row) {
    const float* weights = run.weights + row * kStepPositions;
    float* sums = run.sums + row * run.sums_stride;
    for (uint32_t d = 0; d < run.head_dim; ++d) {
      float sum = sums[d] * run.rescale[row];
      for (uint32_t i = 0; i < run.positions; ++i)
        sum = std::fma(weights[i], run.values[size_t{i} * run.head_dim + d], sum);
      sums[d] = sum;
    }
  }
}

}  // namespace smoe::cpu::portable
