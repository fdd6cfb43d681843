#include "devices/cpu/kernel_sets.h"
#include "devices/cpu/kernels/avx2/avx2.h"
#include "devices/cpu/kernels/avx512/avx512.h"
#include "devices/cpu/kernels/portable/portable.h"

namespace smoe::cpu {
namespace {

constexpr KernelSet kSets[] = {
    {CpuKernels::kAvx512, avx512_kernels,
     [](const CpuFeatures& features) {
       return features.avx512 && features.avx2 && features.fma && features.f16c;
     },
     "AVX-512 (F, BW, VL, DQ) and VNNI"},
    {CpuKernels::kAvx2, avx2_kernels,
     [](const CpuFeatures& features) { return features.avx2 && features.fma && features.f16c; },
     "AVX2, FMA and F16C"},
    {CpuKernels::kPortable, portable_kernels, [](const CpuFeatures&) { return true; }, "nothing"},
};

}  // namespace

std::span<const KernelSet> kernel_sets() { return kSets; }

}  // namespace smoe::cpu
