#include <cpuid.h>

#include "devices/cpu/cpu_features.h"

namespace smoe {
namespace {

// clang 14 has no name for this feature, so the processor is asked itself.
bool has_f16c() {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}

}  // namespace

// The compiler's probe also asks whether the system saves the wide registers.
CpuFeatures detect_cpu_features() {
  CpuFeatures features;
  features.avx2 = __builtin_cpu_supports("avx2") != 0;
  features.fma = __builtin_cpu_supports("fma") != 0;
  features.f16c = features.avx2 && has_f16c();
  features.avx512 =
      __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
      __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
      __builtin_cpu_supports("avx512vnni") != 0;
  return features;
}

}  // namespace smoe
