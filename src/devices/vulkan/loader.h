// The Vulkan loader, opened when a GPU is asked for: a machine without one still runs smoe.
#pragma once

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan.h>

#include "base/result.h"

// Every function that is used, by the level that it belongs to.
#define SMOE_VULKAN_GLOBAL(X) X(CreateInstance) X(EnumerateInstanceExtensionProperties)
// clang-format would indent each line more than the one before.
// clang-format off
#define SMOE_VULKAN_INSTANCE(X) \
  X(DestroyInstance) X(EnumeratePhysicalDevices) X(GetPhysicalDeviceProperties2) \
  X(GetPhysicalDeviceFeatures2) X(GetPhysicalDeviceMemoryProperties) \
  X(GetPhysicalDeviceQueueFamilyProperties) X(EnumerateDeviceExtensionProperties) \
  X(CreateDevice) X(GetDeviceProcAddr)
#define SMOE_VULKAN_DEVICE(X) \
  X(DestroyDevice) X(GetDeviceQueue) X(DeviceWaitIdle) X(QueueSubmit) X(CreateBuffer) \
  X(DestroyBuffer) X(GetBufferMemoryRequirements) X(GetBufferDeviceAddress) X(AllocateMemory) \
  X(FreeMemory) X(BindBufferMemory) X(MapMemory) X(CreateShaderModule) X(DestroyShaderModule) \
  X(CreatePipelineLayout) X(DestroyPipelineLayout) X(CreatePipelineCache) \
  X(DestroyPipelineCache) X(GetPipelineCacheData) X(CreateComputePipelines) \
  X(DestroyPipeline) X(CreateCommandPool) X(DestroyCommandPool) X(AllocateCommandBuffers) \
  X(ResetCommandBuffer) X(BeginCommandBuffer) X(EndCommandBuffer) X(CmdBindPipeline) \
  X(CmdPushConstants) X(CmdDispatch) X(CmdPipelineBarrier) X(CmdCopyBuffer) X(CmdFillBuffer) \
  X(CreateSemaphore) X(DestroySemaphore) X(WaitSemaphores) X(GetSemaphoreCounterValue)
// clang-format on

namespace smoe::vulkan {

struct Api {
#define SMOE_VULKAN_MEMBER(name) PFN_vk##name name = nullptr;
  PFN_vkGetInstanceProcAddr GetInstanceProcAddr = nullptr;
  SMOE_VULKAN_GLOBAL(SMOE_VULKAN_MEMBER)
  SMOE_VULKAN_INSTANCE(SMOE_VULKAN_MEMBER)
  SMOE_VULKAN_DEVICE(SMOE_VULKAN_MEMBER)
#undef SMOE_VULKAN_MEMBER
  // Of VK_EXT_external_memory_host; null without it.
  PFN_vkGetMemoryHostPointerPropertiesEXT GetMemoryHostPointerPropertiesEXT = nullptr;
};

// Opens the loader, once a process, and finds the functions that need no instance. It stays open.
// Fails: kUnsupported, naming the libraries that were looked for.
Result<Api> load_vulkan();
void load_instance_functions(Api& api, VkInstance instance);
void load_device_functions(Api& api, VkDevice device);

}  // namespace smoe::vulkan
