// Activations as the portable Q8_0 kernel reads them.
#pragma once

#include <cstdint>

#include "devices/cpu/kernels/kernel_table.h"

namespace smoe::cpu::portable {

struct QuantizedBlock {
  float scale;  // NaN when an activation of the block is not finite
  int8_t values[kQuantBlock];
};

}  // namespace smoe::cpu::portable
