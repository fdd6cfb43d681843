// The meaning of every kernel, written to be read. std::fma stands for one rounding wherever it is
// written; nothing else is fused.
#pragma once

#include "devices/cpu/kernels/kernel_table.h"

namespace smoe::cpu {

const KernelTable& portable_kernels();

namespace portable {

float exponential(float x);

void run_f32(const TileRun& run);
void run_f16(const TileRun& run);
void run_bf16(const TileRun& run);
void run_f8(const TileRun& run);
void expand_f16(const std::byte* tile, uint32_t cols, float* out);
void expand_bf16(const std::byte* tile, uint32_t cols, float* out);
void expand_f8(const std::byte* tile, uint32_t cols, float* out);

void quantize(const float* in, uint32_t cols, std::byte* out);
// Defined for every format of blocks.
template <Format kFormat>
void run_blocks(const TileRun& run);

float softmax_step(float* scores, uint32_t positions, SoftmaxState& state);
void add_values(const ValueRun& run);
void widen_f16(const std::byte* in, size_t count, float* out);
void widen_keys(const std::byte* in, uint32_t head_dim, float* out);
void widen_values(const std::byte* in, uint32_t head_dim, float* out);

void normalize(const NormRun& run);
void gate(float* gate, const float* up, uint32_t width);
void rotate(float* head, const float* angles, uint32_t dims);
void add_weighted(const float* in, float weight, uint32_t width, float* out);

}  // namespace portable
}  // namespace smoe::cpu
