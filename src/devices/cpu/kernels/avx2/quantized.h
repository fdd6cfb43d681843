// A block of 32 activations as the AVX2 kernels read it.
#pragma once

#include <cstddef>

#include "devices/cpu/kernels/avx2/avx2.h"

namespace smoe::cpu::avx2 {

// First as 16-bit numbers, each group of four in the order 0 2 1 3, so that even and odd bytes of
// the weights each meet one dword; then as bytes; the f32 scale; the int32 sums of the first half,
// the second half and all.
inline constexpr size_t kBytesOffset = kQuantBlock * 2;
inline constexpr size_t kScaleOffset = kBytesOffset + kQuantBlock;
inline constexpr size_t kSumsOffset = kScaleOffset + 4;
static_assert(kSumsOffset + 3 * 4 == kQuantizedBlockBytes);

}  // namespace smoe::cpu::avx2
