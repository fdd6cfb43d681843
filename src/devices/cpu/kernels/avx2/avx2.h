// Kernels for x86-64 with AVX2, FMA and F16C. Half a tile (8 rows) is a vector.
//
// The sources here are compiled with these instructions, so they define nothing that the linker
// could share with the rest of the program: no inline functions of other headers, only intrinsics
// and functions without a name outside their file (tests/devices checks the object files).
#pragma once

#include "devices/cpu/kernels/kernel_table.h"

namespace smoe::cpu {

const KernelTable& avx2_kernels();

namespace avx2 {

inline constexpr uint32_t kFloatRows = 6;  // 12 sums, 2 weights and an activation fill 16 registers
inline constexpr uint32_t kScaledRows = 4;
inline constexpr uint32_t kBlockRows = 6;
inline constexpr size_t kQuantizedBlockBytes = 112;

void run_f32(const TileRun& run);
void run_f16(const TileRun& run);
void run_bf16(const TileRun& run);
void run_f8(const TileRun& run);
void expand_f16(const std::byte* tile, uint32_t cols, float* out);
void expand_f8(const std::byte* tile, uint32_t cols, float* out);

void quantize(const float* in, uint32_t cols, std::byte* out);
void run_q8_0(const TileRun& run);
void run_q4_0(const TileRun& run);
void run_q4_1(const TileRun& run);
void run_q5_0(const TileRun& run);
void run_q5_1(const TileRun& run);
void run_q2_k(const TileRun& run);
void run_q3_k(const TileRun& run);
void run_q4_k(const TileRun& run);
void run_q5_k(const TileRun& run);
void run_q6_k(const TileRun& run);
void run_iq4_nl(const TileRun& run);
void run_iq4_xs(const TileRun& run);
void run_mxfp4(const TileRun& run);

float softmax_step(float* scores, uint32_t positions, SoftmaxState& state);
void add_values(const ValueRun& run);
void widen_f16(const std::byte* in, size_t count, float* out);
void widen_keys(const std::byte* in, uint32_t head_dim, float* out);
void widen_values(const std::byte* in, uint32_t head_dim, float* out);

void normalize(const NormRun& run);
void gate(float* gate, const float* up, uint32_t width);
void rotate(float* head, const float* angles, uint32_t dims);

}  // namespace avx2
}  // namespace smoe::cpu
