// GPUs through Vulkan: which there are, and one of them as a device. docs/gpu.md tells how it
// works.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "compute/device.h"

namespace smoe {

struct GpuFacts {
  uint32_t index = 0;  // as in gpu:N
  std::string name;
  std::string kind;           // "discrete GPU", "integrated GPU", "processor" (a software Vulkan)
  uint64_t memory_bytes = 0;  // of its largest heap of device memory
  bool shared_memory = false;
  std::string version;  // of Vulkan: "1.3.230"
  std::string missing;  // what it would need to be used, by name; empty when it can be
};

struct GpuOptions {
  std::filesystem::path cache_folder;  // where compiled kernels are kept; empty: nowhere
  bool separate_memory = false;        // treat a GPU that shares memory as one that does not
};

// Fails: kUnsupported, saying why no GPU can be looked for (built without Vulkan, no loader).
Result<std::vector<GpuFacts>> list_gpus();

// Fails: kNotFound when there is no such GPU; kUnsupported, naming what it or the machine lacks;
// kNoMemory; kIo.
Result<std::unique_ptr<Device>> make_vulkan_device(uint32_t index, const GpuOptions& options);

}  // namespace smoe
