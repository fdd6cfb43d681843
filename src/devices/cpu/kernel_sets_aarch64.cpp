#include "devices/cpu/kernel_sets.h"
#include "devices/cpu/kernels/neon/neon.h"
#include "devices/cpu/kernels/portable/portable.h"

namespace smoe::cpu {
namespace {

constexpr KernelSet kSets[] = {
    {CpuKernels::kNeon, neon_kernels,
     [](const CpuFeatures& features) { return features.dot_product; },
     "NEON with dot products (ARMv8.2)"},
    {CpuKernels::kPortable, portable_kernels, [](const CpuFeatures&) { return true; }, "nothing"},
};

}  // namespace

std::span<const KernelSet> kernel_sets() { return kSets; }

}  // namespace smoe::cpu
