// Where things lie in a block of quantised activations: as in portable/quantized.h.
#pragma once

#include <cstddef>

namespace smoe::cpu::neon {

inline constexpr size_t kScaleOffset = 0;    // f32
inline constexpr size_t kSumsOffset = 4;     // int32: the first half, the second half, all
inline constexpr size_t kValuesOffset = 16;  // 32 int8
inline constexpr size_t kQuantizedBlockBytes = 48;

}  // namespace smoe::cpu::neon
