// Devices by name. A new device is its folder and one line in select.cpp.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/thread_pool.h"
#include "compute/device.h"
#include "devices/cpu/cpu_device.h"

namespace smoe {

struct DeviceWish {
  // "cpu"; "gpu:N", a GPU by its number (list_gpus()); "gpu", the first that can be used; "auto",
  // which is the cpu until a GPU is measured to be faster than it everywhere.
  std::string name = "auto";
  CpuKernels kernels = CpuKernels::kBest;  // of the cpu
  std::filesystem::path cache_folder;      // for compiled GPU kernels; empty: they are not kept
  Activations activations = Activations::kF32;  // rounded ones: the cpu only
};

// Lifetime: `pool` outlives the device. Fails: kUsage for an unknown name, listing the known ones;
// kUnsupported when the processor lacks the chosen kernels or the GPU what it needs (a GPU also for
// rounded activations); kNotFound
// without such a GPU.
Result<std::unique_ptr<Device>> make_device(const DeviceWish& wish, ThreadPool& pool);

}  // namespace smoe
