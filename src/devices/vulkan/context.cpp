#include "devices/vulkan/context.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

#include "base/units.h"

namespace smoe::vulkan {
namespace {

constexpr uint32_t kApiVersion = VK_API_VERSION_1_2;
constexpr uint32_t kMostPushBytes = 128;
constexpr uint32_t kWorkgroupThreads = 256;

bool has_extension(const std::vector<VkExtensionProperties>& all, const char* name) {
  return std::any_of(all.begin(), all.end(), [&](const VkExtensionProperties& extension) {
    return std::strcmp(extension.extensionName, name) == 0;
  });
}

std::vector<VkExtensionProperties> extensions_of(const Api& api, VkPhysicalDevice gpu) {
  uint32_t count = 0;
  api.EnumerateDeviceExtensionProperties(gpu, nullptr, &count, nullptr);
  std::vector<VkExtensionProperties> extensions(count);
  api.EnumerateDeviceExtensionProperties(gpu, nullptr, &count, extensions.data());
  extensions.resize(count);
  return extensions;
}

std::string kind_of(VkPhysicalDeviceType type) {
  switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
      return "discrete GPU";
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
      return "integrated GPU";
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
      return "virtual GPU";
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
      return "processor";
    default:
      return "other";
  }
}

std::optional<uint32_t> compute_family(const Api& api, VkPhysicalDevice gpu) {
  uint32_t count = 0;
  api.GetPhysicalDeviceQueueFamilyProperties(gpu, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  api.GetPhysicalDeviceQueueFamilyProperties(gpu, &count, families.data());
  for (uint32_t i = 0; i < count; ++i)
    if ((families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) != 0) return i;
  return std::nullopt;
}

// What the kernels need and the GPU has not, by name.
std::string missing_of(const Api& api, VkPhysicalDevice gpu,
                       const VkPhysicalDeviceProperties& properties) {
  std::string missing;
  const auto lacks = [&](const std::string& what) {
    missing += (missing.empty() ? "" : ", ") + what;
  };
  if (properties.apiVersion < kApiVersion) {
    lacks("Vulkan 1.2");
    return missing;
  }
  VkPhysicalDeviceVulkan12Features features{};
  features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
  VkPhysicalDeviceFeatures2 all{};
  all.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  all.pNext = &features;
  api.GetPhysicalDeviceFeatures2(gpu, &all);
  if (features.bufferDeviceAddress == VK_FALSE) lacks("bufferDeviceAddress");
  if (features.timelineSemaphore == VK_FALSE) lacks("timelineSemaphore");
  if (properties.limits.maxComputeWorkGroupInvocations < kWorkgroupThreads ||
      properties.limits.maxComputeWorkGroupSize[0] < kWorkgroupThreads)
    lacks(fmt::format("workgroups of {} threads", kWorkgroupThreads));
  if (properties.limits.maxPushConstantsSize < kMostPushBytes)
    lacks(fmt::format("push constants of {} bytes", kMostPushBytes));
  if (!compute_family(api, gpu)) lacks("a queue for compute");
  return missing;
}

}  // namespace

Result<std::unique_ptr<Instance>> Instance::open() {
  std::unique_ptr<Instance> instance(new Instance());
  SMOE_TRY(instance->api_, load_vulkan());
  Api& api = instance->api_;

  // MoltenVK is only shown to programs that say they know what it lacks.
  uint32_t count = 0;
  api.EnumerateInstanceExtensionProperties(nullptr, &count, nullptr);
  std::vector<VkExtensionProperties> extensions(count);
  api.EnumerateInstanceExtensionProperties(nullptr, &count, extensions.data());
  std::vector<const char*> names;
  VkApplicationInfo application{};
  application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
  application.pApplicationName = "smoe";
  application.apiVersion = kApiVersion;
  VkInstanceCreateInfo create{};
  create.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
  create.pApplicationInfo = &application;
  if (has_extension(extensions, VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME)) {
    names.push_back(VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME);
    create.flags |= VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR;
  }
  create.enabledExtensionCount = static_cast<uint32_t>(names.size());
  create.ppEnabledExtensionNames = names.data();
  if (const VkResult result = api.CreateInstance(&create, nullptr, &instance->instance_);
      result != VK_SUCCESS)
    return Error{Code::kUnsupported,
                 fmt::format("Vulkan does not start (error {}): is a driver installed?",
                             static_cast<int>(result))};
  load_instance_functions(api, instance->instance_);
  return instance;
}

Instance::~Instance() {
  if (instance_ != VK_NULL_HANDLE) api_.DestroyInstance(instance_, nullptr);
}

Result<std::vector<VkPhysicalDevice>> Instance::gpus() const {
  uint32_t count = 0;
  VkResult result = api_.EnumeratePhysicalDevices(instance_, &count, nullptr);
  std::vector<VkPhysicalDevice> gpus(count);
  if (result == VK_SUCCESS) result = api_.EnumeratePhysicalDevices(instance_, &count, gpus.data());
  if (result != VK_SUCCESS && result != VK_INCOMPLETE)
    return Error{Code::kIo, fmt::format("Vulkan does not list its devices (error {})",
                                        static_cast<int>(result))};
  gpus.resize(count);
  return gpus;
}

GpuFacts Instance::facts_of(VkPhysicalDevice gpu, uint32_t index) const {
  VkPhysicalDeviceProperties2 properties{};
  properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
  api_.GetPhysicalDeviceProperties2(gpu, &properties);
  VkPhysicalDeviceMemoryProperties memory{};
  api_.GetPhysicalDeviceMemoryProperties(gpu, &memory);

  GpuFacts facts;
  facts.index = index;
  facts.name = properties.properties.deviceName;
  facts.kind = kind_of(properties.properties.deviceType);
  const uint32_t version = properties.properties.apiVersion;
  facts.version = fmt::format("{}.{}.{}", VK_API_VERSION_MAJOR(version),
                              VK_API_VERSION_MINOR(version), VK_API_VERSION_PATCH(version));
  facts.shared_memory =
      properties.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU ||
      properties.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
  for (uint32_t i = 0; i < memory.memoryHeapCount; ++i)
    if ((memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0)
      facts.memory_bytes = std::max<uint64_t>(facts.memory_bytes, memory.memoryHeaps[i].size);
  facts.missing = missing_of(api_, gpu, properties.properties);
  return facts;
}

Result<std::unique_ptr<Context>> Context::open(uint32_t index, const GpuOptions& options) {
  std::unique_ptr<Context> context(new Context());
  SMOE_TRY(context->instance_, Instance::open());
  SMOE_TRY(const std::vector<VkPhysicalDevice> gpus, context->instance_->gpus());
  if (index >= gpus.size())
    return Error{Code::kNotFound, fmt::format("there is no gpu:{}: Vulkan knows {} here; smoe "
                                              "devices lists them",
                                              index, gpus.size())};
  context->facts_ = context->instance_->facts_of(gpus[index], index);
  const GpuFacts& facts = context->facts_;
  if (!facts.missing.empty())
    return Error{Code::kUnsupported,
                 fmt::format("gpu:{} ({}) lacks {}; another GPU, a newer driver or --device cpu "
                             "will do",
                             index, facts.name, facts.missing)};
  context->shared_memory_ = facts.shared_memory && !options.separate_memory;
  SMOE_DO(context->create(gpus[index]));
  return context;
}

Status Context::create(VkPhysicalDevice gpu) {
  api_ = instance_->api();
  queue_family_ = *compute_family(api_, gpu);
  api_.GetPhysicalDeviceMemoryProperties(gpu, &memory_);
  const std::vector<VkExtensionProperties> extensions = extensions_of(api_, gpu);
  std::vector<const char*> names;
  const bool imports = has_extension(extensions, VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME);
  if (imports) names.push_back(VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME);
  // A device that has it must be asked for it.
  if (has_extension(extensions, "VK_KHR_portability_subset"))
    names.push_back("VK_KHR_portability_subset");

  VkPhysicalDeviceExternalMemoryHostPropertiesEXT host{};
  host.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT;
  VkPhysicalDeviceProperties2 properties{};
  properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
  if (imports) properties.pNext = &host;
  api_.GetPhysicalDeviceProperties2(gpu, &properties);
  properties_ = properties.properties;
  if (imports) import_alignment_ = host.minImportedHostPointerAlignment;

  VkPhysicalDeviceVulkan12Features features{};
  features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
  features.bufferDeviceAddress = VK_TRUE;
  features.timelineSemaphore = VK_TRUE;
  const float priority = 1.0F;
  VkDeviceQueueCreateInfo queue{};
  queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
  queue.queueFamilyIndex = queue_family_;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  VkDeviceCreateInfo create{};
  create.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
  create.pNext = &features;
  create.queueCreateInfoCount = 1;
  create.pQueueCreateInfos = &queue;
  create.enabledExtensionCount = static_cast<uint32_t>(names.size());
  create.ppEnabledExtensionNames = names.data();
  if (const VkResult result = api_.CreateDevice(gpu, &create, nullptr, &device_);
      result != VK_SUCCESS)
    return error_of(result, "opening the device");
  load_device_functions(api_, device_);
  api_.GetDeviceQueue(device_, queue_family_, 0, &queue_);
  return {};
}

Context::~Context() {
  if (device_ != VK_NULL_HANDLE) api_.DestroyDevice(device_, nullptr);
}

std::optional<uint32_t> Context::memory_type(uint32_t allowed, VkMemoryPropertyFlags needed,
                                             VkMemoryPropertyFlags liked) const {
  std::optional<uint32_t> best;
  int best_liked = -1;
  for (uint32_t i = 0; i < memory_.memoryTypeCount; ++i) {
    const VkMemoryPropertyFlags flags = memory_.memoryTypes[i].propertyFlags;
    if ((allowed >> i & 1U) == 0 || (flags & needed) != needed) continue;
    const int has = std::popcount(flags & liked);
    if (has <= best_liked) continue;
    best = i;
    best_liked = has;
  }
  return best;
}

Error Context::error_of(VkResult result, const std::string& what) const {
  const std::string where = fmt::format("gpu:{} ({}): {}", facts_.index, facts_.name, what);
  switch (result) {
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
      return {Code::kNoMemory,
              fmt::format("{}: out of device memory ({} in all); a smaller --memory, --ctx or "
                          "--device cpu needs less of it",
                          where, format_bytes(facts_.memory_bytes))};
    case VK_ERROR_OUT_OF_HOST_MEMORY:
      return {Code::kNoMemory, where + ": out of host memory"};
    case VK_ERROR_DEVICE_LOST:
      return {Code::kIo, where +
                             ": the device was lost (its driver was reset, or it was "
                             "removed); start smoe again, or with --device cpu"};
    default:
      return {Code::kIo,
              fmt::format("{} failed (Vulkan error {})", where, static_cast<int>(result))};
  }
}

}  // namespace smoe::vulkan
