// What the processor and the operating system let us use.
#pragma once

namespace smoe {

struct CpuFeatures {
  bool avx2 = false;
  bool fma = false;
  bool f16c = false;
  bool avx512 = false;       // F, BW, VL, DQ and VNNI
  bool dot_product = false;  // of 64-bit ARM
};

// One source file an architecture; CMake picks it.
CpuFeatures detect_cpu_features();

}  // namespace smoe
