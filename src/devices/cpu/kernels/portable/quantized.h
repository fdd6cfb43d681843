// Activations as the portable kernels of block formats read them.
#pragma once

#include <cstdint>

#include "devices/cpu/kernels/kernel_table.h"

namespace smoe::cpu::portable {

struct QuantizedBlock {
  float scale;      // NaN when an activation of the block is not finite
  int32_t sums[3];  // of the values: the first half, the second half, all
  int8_t values[kQuantBlock];
};

}  // namespace smoe::cpu::portable
