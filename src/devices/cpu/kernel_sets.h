// The kernel sets of this build and the choice among them.
#pragma once

#include <span>
#include <string_view>

#include "base/result.h"
#include "devices/cpu/cpu_device.h"
#include "devices/cpu/cpu_features.h"
#include "devices/cpu/kernels/kernel_table.h"

namespace smoe::cpu {

struct KernelSet {
  CpuKernels id;
  const KernelTable& (*table)();
  bool (*runs_on)(const CpuFeatures& features);
  std::string_view needs;  // for the error: "AVX2, FMA and F16C"
};

// Best first. One source file an architecture; CMake picks it.
std::span<const KernelSet> kernel_sets();

// The set asked for, or the first that runs. Fails: kUnsupported, naming what the processor lacks.
Result<const KernelTable*> choose_kernels(CpuKernels kernels, const CpuFeatures& features);

}  // namespace smoe::cpu
