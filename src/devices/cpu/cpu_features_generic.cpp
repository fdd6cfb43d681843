#include "devices/cpu/cpu_features.h"

namespace smoe {

CpuFeatures detect_cpu_features() { return {}; }

}  // namespace smoe
