// Kernels for x86-64 with AVX-512 (F, BW, VL, DQ) and VNNI. A tile (16 rows) is a vector. What is
// not here comes from AVX2, whose quantised activations these kernels read.
//
// As in avx2/, the sources define nothing that the linker could share with the rest of the program.
#pragma once

#include "devices/cpu/kernels/kernel_table.h"

namespace smoe::cpu {

const KernelTable& avx512_kernels();

namespace avx512 {

inline constexpr uint32_t kRows = 8;  // with two tiles 16 sums, of 32 registers

void run_f32(const TileRun& run);
void run_f16(const TileRun& run);
void run_bf16(const TileRun& run);

void run_q8_0(const TileRun& run);
void run_q4_0(const TileRun& run);
void run_q4_1(const TileRun& run);
void run_q5_0(const TileRun& run);
void run_q5_1(const TileRun& run);
void run_iq4_nl(const TileRun& run);
void run_mxfp4(const TileRun& run);

}  // namespace avx512
}  // namespace smoe::cpu
