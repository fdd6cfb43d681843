#include "devices/cpu/cpu_features.h"

namespace smoe {

// The compiler's probe also asks whether the system saves the wide registers.
CpuFeatures detect_cpu_features() {
  CpuFeatures features;
  features.avx2 = __builtin_cpu_supports("avx2") != 0;
  features.fma = __builtin_cpu_supports("fma") != 0;
  features.f16c = __builtin_cpu_supports("f16c") != 0;
  return features;
}

}  // namespace smoe
