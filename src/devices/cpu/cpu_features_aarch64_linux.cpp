#include <asm/hwcap.h>
#include <sys/auxv.h>

#include "devices/cpu/cpu_features.h"

namespace smoe {

CpuFeatures detect_cpu_features() {
  CpuFeatures features;
  features.dot_product = (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
  return features;
}

}  // namespace smoe
