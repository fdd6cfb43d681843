// One GPU, opened: instance, logical device, queue, and what is known of its memory.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "devices/vulkan/gpu.h"
#include "devices/vulkan/loader.h"

namespace smoe::vulkan {

class Instance {
 public:
  // Fails: kUnsupported.
  static Result<std::unique_ptr<Instance>> open();
  ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  const Api& api() const { return api_; }
  // Fails: kIo.
  Result<std::vector<VkPhysicalDevice>> gpus() const;
  GpuFacts facts_of(VkPhysicalDevice gpu, uint32_t index) const;

 private:
  Instance() = default;
  Api api_;
  VkInstance instance_ = VK_NULL_HANDLE;
};

class Context {
 public:
  // Fails: as make_vulkan_device.
  static Result<std::unique_ptr<Context>> open(uint32_t index, const GpuOptions& options);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  const Api& api() const { return api_; }
  VkDevice device() const { return device_; }
  VkQueue queue() const { return queue_; }
  uint32_t queue_family() const { return queue_family_; }
  const GpuFacts& facts() const { return facts_; }
  const VkPhysicalDeviceProperties& properties() const { return properties_; }
  // Host and device share memory, and nothing has to be copied.
  bool shared_memory() const { return shared_memory_; }
  // A processor that runs the kernels, not a GPU.
  bool software() const { return properties_.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU; }
  // Host memory on pages of so many bytes can be used in place; 0: none can.
  uint64_t import_alignment() const { return import_alignment_; }

  // A memory type of `allowed` that has all of `needed`, with as many of `liked` as there are.
  std::optional<uint32_t> memory_type(uint32_t allowed, VkMemoryPropertyFlags needed,
                                      VkMemoryPropertyFlags liked) const;

  // What a result other than VK_SUCCESS means: kNoMemory, or kIo for a lost device and the rest.
  Error error_of(VkResult result, const std::string& what) const;

 private:
  Context() = default;
  Status create(VkPhysicalDevice gpu);

  std::unique_ptr<Instance> instance_;
  Api api_;
  GpuFacts facts_;
  VkPhysicalDeviceProperties properties_{};
  VkPhysicalDeviceMemoryProperties memory_{};
  VkDevice device_ = VK_NULL_HANDLE;
  VkQueue queue_ = VK_NULL_HANDLE;
  uint32_t queue_family_ = 0;
  bool shared_memory_ = false;
  uint64_t import_alignment_ = 0;
};

}  // namespace smoe::vulkan
