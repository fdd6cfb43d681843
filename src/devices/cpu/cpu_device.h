// The CPU as a device: kernels of the best instruction set that the processor has, spread over a
// thread pool.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/thread_pool.h"
#include "compute/device.h"

namespace smoe {

enum class CpuKernels { kBest, kPortable, kAvx2, kNeon, kAvx512 };

// What BF16 weights multiply: activations as they are, or rounded to BF16, which is what a
// processor's own BF16 products take. Weights of other formats, and products that ask for exact
// activations (ProjectCall), always get the first.
enum class Activations : uint8_t { kF32, kBF16 };

// `pool` outlives the device. Fails: kUnsupported when the processor lacks the chosen set.
Result<std::unique_ptr<Device>> make_cpu_device(ThreadPool& pool, CpuKernels kernels,
                                                Activations activations = Activations::kF32);

}  // namespace smoe
