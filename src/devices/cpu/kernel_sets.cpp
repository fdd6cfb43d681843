#include "devices/cpu/kernel_sets.h"

#include <string>

namespace smoe::cpu {

Result<const KernelTable*> choose_kernels(CpuKernels kernels, const CpuFeatures& features) {
  for (const KernelSet& set : kernel_sets()) {
    const bool usable = set.runs_on(features);
    if (kernels == CpuKernels::kBest ? usable : set.id == kernels) {
      if (usable) return &set.table();
      return Error{Code::kUnsupported, "device cpu: the " + std::string(set.table().name) +
                                           " kernels need a processor with " +
                                           std::string(set.needs) +
                                           "; choose the kernels \"best\" or \"portable\""};
    }
  }
  return Error{Code::kUnsupported,
               "device cpu: these kernels are not built for this kind of processor; choose the "
               "kernels \"best\" or \"portable\""};
}

}  // namespace smoe::cpu
