// Operations on one row or one head.
#include <algorithm>
#include <cmath>

#include "devices/cpu/kernels/portable/portable.h"

namespace smoe::cpu::portable {
namespace {

// Element i belongs to partial sum i % 16: one vector of 16 lanes, two of 8, four of 4.
constexpr uint32_t kLanes = 16;

float sum_of_squares(const float* in, uint32_t width) {
  float sums[kLanes] = {};
  for (uint32_t i = 0; i < width; ++i) sums[i % kLanes] = std::fma(in[i], in[i], sums[i % kLanes]);
  for (uint32_t half = kLanes / 2; half > 0; half /= 2) {
    for (uint32_t lane = 0; lane < half; ++lane) sums[lane] = sums[lane] + sums[lane + half];
  }
  return sums[0];
}

}  // namespace

void normalize(const NormRun& run) {
  const float mean = sum_of_squares(run.in, run.width) / static_cast<float>(run.width);
  const float inverse = 1.0F / std::sqrt(mean + run.epsilon);
  for (uint32_t i = 0; i < run.width; ++i) run.out[i] = run.in[i] * inverse * run.weight[i];
}

void gate(float* gate, const float* up, uint32_t width) {
  for (uint32_t i = 0; i < width; ++i) gate[i] = gate[i] / (1.0F + exponential(-gate[i])) * up[i];
}

void rotate(float* head, const float* angles, uint32_t dims) {
  const uint32_t half = dims / 2;
  for (uint32_t i = 0; i < half; ++i) {
    const float first = head[i];
    const float second = head[i + half];
    head[i] = std::fma(-second, angles[half + i], first * angles[i]);
    head[i + half] = std::fma(first, angles[half + i], second * angles[i]);
  }
}

void add_weighted(const float* in, float weight, uint32_t width, float* out) {
  for (uint32_t i = 0; i < width; ++i) out[i] = out[i] + weight * in[i];
}

}  // namespace smoe::cpu::portable
