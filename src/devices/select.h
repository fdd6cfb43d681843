// Devices by name. A new device is its folder and one line in select.cpp.
#pragma once

#include <memory>
#include <string_view>

#include "base/result.h"
#include "base/thread_pool.h"
#include "compute/device.h"

namespace smoe {

// device: "cpu". kernels: "best", "portable", "avx2". Lifetime: `pool` outlives the device.
// Fails: kUsage for an unknown name, listing the known ones; kUnsupported when the processor lacks
// the chosen kernels.
Result<std::unique_ptr<Device>> make_device(std::string_view device, std::string_view kernels,
                                            ThreadPool& pool);

}  // namespace smoe
