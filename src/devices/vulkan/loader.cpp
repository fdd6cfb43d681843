#include "devices/vulkan/loader.h"

#include <dlfcn.h>

#include <array>

namespace smoe::vulkan {
namespace {

// MoltenVK by itself serves where no loader is installed.
constexpr std::array kLoaderNames = {"libvulkan.so.1", "libvulkan.so", "libvulkan.1.dylib",
                                     "libvulkan.dylib", "libMoltenVK.dylib"};

}  // namespace

Result<Api> load_vulkan() {
  for (const char* name : kLoaderNames) {
    void* library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) continue;
    Api api;
    api.GetInstanceProcAddr =
        reinterpret_cast<PFN_vkGetInstanceProcAddr>(::dlsym(library, "vkGetInstanceProcAddr"));
    if (api.GetInstanceProcAddr == nullptr) continue;
#define SMOE_VULKAN_LOAD(name) \
  api.name = reinterpret_cast<PFN_vk##name>(api.GetInstanceProcAddr(nullptr, "vk" #name));
    SMOE_VULKAN_GLOBAL(SMOE_VULKAN_LOAD)
#undef SMOE_VULKAN_LOAD
    return api;
  }
  return Error{Code::kUnsupported,
               "no Vulkan loader (libvulkan.so.1): install the GPU's driver and libvulkan1"};
}

void load_instance_functions(Api& api, VkInstance instance) {
#define SMOE_VULKAN_LOAD(name) \
  api.name = reinterpret_cast<PFN_vk##name>(api.GetInstanceProcAddr(instance, "vk" #name));
  SMOE_VULKAN_INSTANCE(SMOE_VULKAN_LOAD)
#undef SMOE_VULKAN_LOAD
}

void load_device_functions(Api& api, VkDevice device) {
#define SMOE_VULKAN_LOAD(name) \
  api.name = reinterpret_cast<PFN_vk##name>(api.GetDeviceProcAddr(device, "vk" #name));
  SMOE_VULKAN_DEVICE(SMOE_VULKAN_LOAD)
  SMOE_VULKAN_LOAD(GetMemoryHostPointerPropertiesEXT)
#undef SMOE_VULKAN_LOAD
}

}  // namespace smoe::vulkan
