// Records operations into command buffers, with a barrier only where one must wait for another, and
// submits them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "compute/device.h"
#include "devices/vulkan/context.h"
#include "devices/vulkan/kernels.h"
#include "devices/vulkan/memory.h"

namespace smoe::vulkan {

// Bytes on the device that an operation reads or writes.
struct Range {
  VkDeviceAddress begin = 0;
  size_t bytes = 0;
};

bool overlaps(const Range& a, const Range& b);

// Push constants: addresses first, then whatever the kernel wants.
struct Push {
  std::span<const std::byte> bytes;
  uint32_t addresses = 0;
};

struct Dispatch {
  Kernel kernel{};
  Constants constants{};
  Push push;
  uint32_t groups_x = 1;
  uint32_t groups_y = 1;
  // All that the addresses of `push` point to, but for arguments.
  std::span<const Range> reads;
  Range writes;
  Range also_writes = {};
};

struct Copy {
  const Memory* from = nullptr;
  size_t from_offset = 0;
  const Memory* to = nullptr;
  size_t to_offset = 0;
  size_t bytes = 0;
};

// Threads: one at a time. After a failure every operation does nothing, and wait() says what it
// was.
class Recorder {
 public:
  // Fails: kNoMemory, kIo.
  static Result<std::unique_ptr<Recorder>> open(const Context& context, Kernels& kernels);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  void dispatch(const Dispatch& dispatch);
  void copy(const Copy& copy);
  // Zeroes; offset and bytes are multiples of 4.
  void fill(const Memory& memory, size_t offset, size_t bytes);

  // Makes sure that arguments of `bytes` together go into one submission with what is recorded
  // next.
  void make_room(size_t bytes);
  // Host bytes where kernels of this submission can read them. bytes <= kArgumentBytes / 2.
  VkDeviceAddress argument(std::span<const std::byte> bytes);
  // The same, to copy from.
  Copy staged(std::span<const std::byte> bytes);

  Ticket submit();
  bool finished(Ticket ticket) const;
  // Fails: the first failure since it was opened.
  Status wait(Ticket ticket);
  void fail(Error error);

  static constexpr size_t kArgumentBytes = size_t{2} << 20;

 private:
  static constexpr size_t kSlots = 4;
  struct Slot {
    VkCommandBuffer commands = VK_NULL_HANDLE;
    Memory arguments;
    size_t used = 0;
    uint32_t dispatches = 0;
    uint64_t ticket = 0;  // of its last submission
  };
  // Arguments that are handed in again and again, such as the page table, are kept once.
  struct Kept {
    const std::byte* host = nullptr;
    size_t offset = 0;
    size_t bytes = 0;
  };

  Recorder(const Context& context, Kernels& kernels) : context_(context), kernels_(kernels) {}
  Status create();
  bool begin();
  size_t put(std::span<const std::byte> bytes);
  void order(bool copies, std::span<const Range> reads, Range writes, Range also_writes = {});
  void check_addresses(const Dispatch& dispatch);
  void barrier(VkPipelineStageFlags from, VkPipelineStageFlags to, VkAccessFlags access);
  Slot& slot() { return slots_[current_]; }

  const Context& context_;
  Kernels& kernels_;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  VkSemaphore done_ = VK_NULL_HANDLE;  // counts submissions
  std::array<Slot, kSlots> slots_;
  size_t current_ = 0;
  bool recording_ = false;
  uint32_t limit_ = 0;  // dispatches of a submission
  uint64_t submitted_ = 0;
  VkPipeline bound_ = VK_NULL_HANDLE;
  bool copied_ = false;         // since the last barrier
  bool among_kernels_ = false;  // the last barrier was
  // Since the last barrier.
  std::vector<Range> reads_;
  std::vector<Range> writes_;
  std::vector<Kept> kept_;
  // The slot's arguments once more: reading what the device sees is slow.
  std::vector<std::byte> written_;
  Status fault_;
};

}  // namespace smoe::vulkan
