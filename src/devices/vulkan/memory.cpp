#include "devices/vulkan/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/units.h"

namespace smoe::vulkan {
namespace {

constexpr VkMemoryPropertyFlags kMapped =
    VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;

struct Wanted {
  VkMemoryPropertyFlags needed;
  VkMemoryPropertyFlags liked;
};

Wanted wanted_for(MemoryKind kind, bool shared) {
  switch (kind) {
    case MemoryKind::kDevice:
      if (shared) return {kMapped, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT};
      return {VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0};
    case MemoryKind::kArgument:
      return {kMapped, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT};
    case MemoryKind::kReadback:
      return {kMapped, VK_MEMORY_PROPERTY_HOST_CACHED_BIT};
  }
  return {};
}

}  // namespace

Memory& Memory::operator=(Memory&& other) noexcept {
  std::swap(context_, other.context_);
  std::swap(buffer_, other.buffer_);
  std::swap(memory_, other.memory_);
  std::swap(address_, other.address_);
  std::swap(mapped_, other.mapped_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Memory::~Memory() {
  if (context_ == nullptr) return;
  const Api& api = context_->api();
  api.DestroyBuffer(context_->device(), buffer_, nullptr);
  api.FreeMemory(context_->device(), memory_, nullptr);  // unmaps it
}

Status Memory::create_buffer(const Context& context, size_t bytes, const void* next) {
  context_ = &context;
  bytes_ = bytes;
  VkBufferCreateInfo create{};
  create.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
  create.pNext = next;
  create.size = bytes;
  create.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                 VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
  const VkResult result = context.api().CreateBuffer(context.device(), &create, nullptr, &buffer_);
  if (result == VK_SUCCESS) return {};
  return context.error_of(result, "a buffer of " + format_bytes(bytes));
}

Status Memory::bind(const Context& context, uint32_t type, size_t bytes, const void* next) {
  const Api& api = context.api();
  VkMemoryAllocateFlagsInfo flags{};
  flags.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO;
  flags.pNext = next;
  flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
  VkMemoryAllocateInfo allocate{};
  allocate.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
  allocate.pNext = &flags;
  allocate.allocationSize = bytes;
  allocate.memoryTypeIndex = type;
  VkResult result = api.AllocateMemory(context.device(), &allocate, nullptr, &memory_);
  if (result == VK_SUCCESS) result = api.BindBufferMemory(context.device(), buffer_, memory_, 0);
  if (result != VK_SUCCESS) return context.error_of(result, format_bytes(bytes));
  VkBufferDeviceAddressInfo info{};
  info.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO;
  info.buffer = buffer_;
  address_ = api.GetBufferDeviceAddress(context.device(), &info);
  return {};
}

Result<Memory> Memory::allocate(const Context& context, size_t bytes, MemoryKind kind) {
  Memory memory;
  SMOE_DO(memory.create_buffer(context, align_up(std::max<size_t>(bytes, 1), kPageBytes), nullptr));
  VkMemoryRequirements needs{};
  context.api().GetBufferMemoryRequirements(context.device(), memory.buffer_, &needs);
  const bool mapped = kind != MemoryKind::kDevice || context.shared_memory();
  const Wanted wanted = wanted_for(kind, context.shared_memory());
  const std::optional<uint32_t> type =
      context.memory_type(needs.memoryTypeBits, wanted.needed, wanted.liked);
  if (!type)
    return Error{Code::kUnsupported, context.facts().name + ": has no memory of the needed kind"};
  SMOE_DO(memory.bind(context, *type, needs.size, nullptr));
  if (!mapped) return memory;
  void* pointer = nullptr;
  const VkResult result =
      context.api().MapMemory(context.device(), memory.memory_, 0, VK_WHOLE_SIZE, 0, &pointer);
  if (result != VK_SUCCESS) return context.error_of(result, "mapping memory");
  memory.mapped_ = static_cast<std::byte*>(pointer);
  return memory;
}

Result<Memory> Memory::import(const Context& context, std::span<std::byte> host) {
  constexpr auto kHostPointer = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;
  const uint64_t alignment = context.import_alignment();
  if (alignment == 0 || reinterpret_cast<uintptr_t>(host.data()) % alignment != 0 ||
      host.size() % alignment != 0)
    return Error{Code::kUnsupported, "host memory cannot be used in place"};

  Memory memory;
  VkExternalMemoryBufferCreateInfo external{};
  external.sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO;
  external.handleTypes = kHostPointer;
  SMOE_DO(memory.create_buffer(context, host.size(), &external));
  VkMemoryRequirements needs{};
  context.api().GetBufferMemoryRequirements(context.device(), memory.buffer_, &needs);
  VkMemoryHostPointerPropertiesEXT pointer{};
  pointer.sType = VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT;
  const VkResult result = context.api().GetMemoryHostPointerPropertiesEXT(
      context.device(), kHostPointer, host.data(), &pointer);
  if (result != VK_SUCCESS) return context.error_of(result, "using host memory in place");
  const std::optional<uint32_t> type = context.memory_type(
      needs.memoryTypeBits & pointer.memoryTypeBits, VK_MEMORY_PROPERTY_HOST_COHERENT_BIT,
      VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | VK_MEMORY_PROPERTY_HOST_CACHED_BIT);
  if (!type || needs.size > host.size())
    return Error{Code::kUnsupported, "host memory cannot be used in place"};
  VkImportMemoryHostPointerInfoEXT import{};
  import.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT;
  import.handleType = kHostPointer;
  import.pHostPointer = host.data();
  SMOE_DO(memory.bind(context, *type, host.size(), &import));
  memory.mapped_ = host.data();
  return memory;
}

}  // namespace smoe::vulkan
