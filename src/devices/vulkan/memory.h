// One buffer with memory of its own, and its address on the device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "devices/vulkan/context.h"

namespace smoe::vulkan {

enum class MemoryKind : uint8_t {
  kDevice,    // the fastest for kernels; mapped where host and device share memory
  kArgument,  // written by the host, read by kernels
  kReadback,  // written by the device, read by the host
};

class Memory {
 public:
  Memory() = default;
  // Fails: kNoMemory, kIo. The bytes are whatever they are.
  static Result<Memory> allocate(const Context& context, size_t bytes, MemoryKind kind);
  // Host memory in place; address and size are multiples of import_alignment(). Lifetime: `host`
  // outlives it. Fails: kNoMemory, kIo, kUnsupported; then nothing has happened.
  static Result<Memory> import(const Context& context, std::span<std::byte> host);
  Memory(Memory&& other) noexcept { *this = std::move(other); }
  Memory& operator=(Memory&& other) noexcept;
  ~Memory();

  VkBuffer buffer() const { return buffer_; }
  VkDeviceAddress address() const { return address_; }
  size_t bytes() const { return bytes_; }
  // Empty where the host does not see it.
  std::span<std::byte> mapped() const { return {mapped_, mapped_ == nullptr ? 0 : bytes_}; }
  explicit operator bool() const { return buffer_ != VK_NULL_HANDLE; }

 private:
  Status create_buffer(const Context& context, size_t bytes, const void* next);
  Status bind(const Context& context, uint32_t type, size_t bytes, const void* next);

  const Context* context_ = nullptr;
  VkBuffer buffer_ = VK_NULL_HANDLE;
  VkDeviceMemory memory_ = VK_NULL_HANDLE;
  VkDeviceAddress address_ = 0;
  std::byte* mapped_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace smoe::vulkan
