// The CPU as a device: kernels of the best instruction set that the processor has, spread over a
// thread pool.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "base/thread_pool.h"
#include "compute/device.h"

namespace smoe {

enum class CpuKernels { kBest, kPortable, kAvx2, kNeon };

// `pool` outlives the device. Fails: kUnsupported when the processor lacks the chosen set.
Result<std::unique_ptr<Device>> make_cpu_device(ThreadPool& pool, CpuKernels kernels);

}  // namespace smoe
