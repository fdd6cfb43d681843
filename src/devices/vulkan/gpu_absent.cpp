// In place of the device where Vulkan's headers or glslc were missing when smoe was built.
#include "devices/vulkan/gpu.h"

namespace smoe {
namespace {

Error left_out() {
  return {Code::kUnsupported,
          "this smoe was built without Vulkan: install glslc and libvulkan-dev and build it again"};
}

}  // namespace

Result<std::vector<GpuFacts>> list_gpus() { return left_out(); }

Result<std::unique_ptr<Device>> make_vulkan_device(uint32_t /*index*/,
                                                   const GpuOptions& /*options*/) {
  return left_out();
}

}  // namespace smoe
