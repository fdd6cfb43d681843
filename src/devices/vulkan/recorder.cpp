#include "devices/vulkan/recorder.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/units.h"

namespace smoe::vulkan {
namespace {

constexpr VkPipelineStageFlags kKernelStage = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
constexpr VkPipelineStageFlags kWork = kKernelStage | VK_PIPELINE_STAGE_TRANSFER_BIT;
constexpr VkAccessFlags kKernelAccess = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;
constexpr VkAccessFlags kWorkAccess =
    kKernelAccess | VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
constexpr size_t kArgumentAlignment = 16;
constexpr size_t kMostKept = 8;
// The device begins with the first ones while the rest is recorded, which takes less time than they
// do: each submission may be half as long again as the one before.
constexpr uint32_t kFirstDispatches = 8;
constexpr uint32_t kMostDispatches = 128;

bool overlaps_any(const Range& range, const std::vector<Range>& all) {
  return std::any_of(all.begin(), all.end(),
                     [&](const Range& other) { return overlaps(range, other); });
}

}  // namespace

bool overlaps(const Range& a, const Range& b) {
  if (a.bytes == 0 || b.bytes == 0) return false;
  return a.begin < b.begin + b.bytes && b.begin < a.begin + a.bytes;
}

Result<std::unique_ptr<Recorder>> Recorder::open(const Context& context, Kernels& kernels) {
  std::unique_ptr<Recorder> recorder(new Recorder(context, kernels));
  SMOE_DO(recorder->create());
  return recorder;
}

Status Recorder::create() {
  const Api& api = context_.api();
  VkCommandPoolCreateInfo pool{};
  pool.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
  pool.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
  pool.queueFamilyIndex = context_.queue_family();
  VkResult result = api.CreateCommandPool(context_.device(), &pool, nullptr, &pool_);
  if (result != VK_SUCCESS) return context_.error_of(result, "a command pool");

  VkSemaphoreTypeCreateInfo timeline{};
  timeline.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO;
  timeline.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
  VkSemaphoreCreateInfo semaphore{};
  semaphore.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO;
  semaphore.pNext = &timeline;
  result = api.CreateSemaphore(context_.device(), &semaphore, nullptr, &done_);
  if (result != VK_SUCCESS) return context_.error_of(result, "a semaphore");

  for (Slot& slot : slots_) {
    VkCommandBufferAllocateInfo allocate{};
    allocate.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
    allocate.commandPool = pool_;
    allocate.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    allocate.commandBufferCount = 1;
    result = api.AllocateCommandBuffers(context_.device(), &allocate, &slot.commands);
    if (result != VK_SUCCESS) return context_.error_of(result, "a command buffer");
    SMOE_TRY(slot.arguments, Memory::allocate(context_, kArgumentBytes, MemoryKind::kArgument));
  }
  reads_.reserve(64);
  writes_.reserve(64);
  kept_.reserve(kMostKept);
  written_.resize(kArgumentBytes);
  return {};
}

Recorder::~Recorder() {
  const Api& api = context_.api();
  api.DeviceWaitIdle(context_.device());
  api.DestroyCommandPool(context_.device(), pool_, nullptr);
  api.DestroySemaphore(context_.device(), done_, nullptr);
}

void Recorder::fail(Error error) {
  if (fault_) fault_ = std::move(error);
}

bool Recorder::begin() {
  if (!fault_) return false;
  if (recording_) return true;
  current_ = (current_ + 1) % kSlots;
  if (!wait(Ticket{slot().ticket})) return false;
  VkCommandBufferBeginInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  info.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  const VkResult result = context_.api().BeginCommandBuffer(slot().commands, &info);
  if (result != VK_SUCCESS) {
    fail(context_.error_of(result, "recording commands"));
    return false;
  }
  recording_ = true;
  slot().used = 0;
  slot().dispatches = 0;
  if (finished(Ticket{submitted_})) limit_ = kFirstDispatches;
  kept_.clear();
  bound_ = VK_NULL_HANDLE;
  barrier(kWork, kWork, kWorkAccess);  // after what was submitted before
  copied_ = false;
  return true;
}

void Recorder::barrier(VkPipelineStageFlags from, VkPipelineStageFlags to, VkAccessFlags access) {
  VkMemoryBarrier memory{};
  memory.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
  memory.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT;
  if (from == kWork) memory.srcAccessMask |= VK_ACCESS_TRANSFER_WRITE_BIT;
  memory.dstAccessMask = access;
  context_.api().CmdPipelineBarrier(slot().commands, from, to, 0, 1, &memory, 0, nullptr, 0,
                                    nullptr);
  among_kernels_ = from == kKernelStage;
  reads_.clear();
  writes_.clear();
}

// A barrier when the operation would read or write what one since the last barrier writes, or write
// what one reads.
void Recorder::order(bool copies, std::span<const Range> reads, Range writes, Range also_writes) {
  // What came before a barrier among kernels is forgotten, and no copy has waited for it.
  bool waits = copies && among_kernels_;
  for (const Range& written : {writes, also_writes})
    waits = waits || overlaps_any(written, reads_) || overlaps_any(written, writes_);
  for (const Range& read : reads) waits = waits || overlaps_any(read, writes_);
  if (waits) {
    // Kernels that wait for kernels alone are cheaper for a GPU.
    const bool kernels = !copies && !copied_;
    barrier(kernels ? kKernelStage : kWork, kernels ? kKernelStage : kWork,
            kernels ? kKernelAccess : kWorkAccess);
    copied_ = false;
  }
  copied_ = copied_ || copies;
  reads_.insert(reads_.end(), reads.begin(), reads.end());
  writes_.push_back(writes);
  if (also_writes.bytes > 0) writes_.push_back(also_writes);
}

// No layer sees what a kernel reads by its address, so nothing else would tell of a range that was
// forgotten, and many a device is slow enough to finish a copy before the kernel looks.
void Recorder::check_addresses(const Dispatch& dispatch) {
  const Memory& arguments = slot().arguments;
  const auto inside = [](VkDeviceAddress address, const Range& range) {
    return address >= range.begin && address - range.begin < range.bytes;
  };
  for (uint32_t i = 0; i < dispatch.push.addresses; ++i) {
    VkDeviceAddress address = 0;
    std::memcpy(&address, dispatch.push.bytes.data() + i * sizeof address, sizeof address);
    const bool declared = address == 0 || inside(address, dispatch.writes) ||
                          inside(address, dispatch.also_writes) ||
                          inside(address, {arguments.address(), arguments.bytes()}) ||
                          std::any_of(dispatch.reads.begin(), dispatch.reads.end(),
                                      [&](const Range& range) { return inside(address, range); });
    SMOE_CHECK(declared);
  }
}

void Recorder::dispatch(const Dispatch& dispatch) {
  if (!begin()) return;
  check_addresses(dispatch);
  const auto pipeline = kernels_.pipeline(dispatch.kernel, dispatch.constants);
  if (!pipeline) return fail(pipeline.error());
  order(false, dispatch.reads, dispatch.writes, dispatch.also_writes);
  const Api& api = context_.api();
  if (*pipeline != bound_)
    api.CmdBindPipeline(slot().commands, VK_PIPELINE_BIND_POINT_COMPUTE, *pipeline);
  bound_ = *pipeline;
  api.CmdPushConstants(slot().commands, kernels_.layout(), VK_SHADER_STAGE_COMPUTE_BIT, 0,
                       static_cast<uint32_t>(dispatch.push.bytes.size()),
                       dispatch.push.bytes.data());
  api.CmdDispatch(slot().commands, dispatch.groups_x, dispatch.groups_y, 1);
  if (++slot().dispatches >= limit_) {
    limit_ = std::min(limit_ + limit_ / 2, kMostDispatches);
    submit();
  }
}

void Recorder::copy(const Copy& copy) {
  if (!begin()) return;
  const Range reads[] = {{copy.from->address() + copy.from_offset, copy.bytes}};
  order(true, reads, {copy.to->address() + copy.to_offset, copy.bytes});
  const VkBufferCopy region{copy.from_offset, copy.to_offset, copy.bytes};
  context_.api().CmdCopyBuffer(slot().commands, copy.from->buffer(), copy.to->buffer(), 1, &region);
}

void Recorder::fill(const Memory& memory, size_t offset, size_t bytes) {
  if (!begin()) return;
  order(true, {}, {memory.address() + offset, bytes});
  context_.api().CmdFillBuffer(slot().commands, memory.buffer(), offset, bytes, 0);
}

void Recorder::make_room(size_t bytes) {
  constexpr size_t kPieces = 4;  // of an operation, each aligned
  if (recording_ && slot().used + bytes + kPieces * kArgumentAlignment > kArgumentBytes) submit();
}

// Where in the slot's arguments the bytes now are. Full ones go off with what is recorded.
size_t Recorder::put(std::span<const std::byte> bytes) {
  SMOE_CHECK(bytes.size() <= kArgumentBytes / 2);
  make_room(bytes.size());
  if (!begin()) return 0;
  const size_t offset = slot().used;
  std::memcpy(slot().arguments.mapped().data() + offset, bytes.data(), bytes.size());
  std::memcpy(written_.data() + offset, bytes.data(), bytes.size());
  slot().used = align_up(offset + bytes.size(), kArgumentAlignment);
  return offset;
}

VkDeviceAddress Recorder::argument(std::span<const std::byte> bytes) {
  if (bytes.empty()) return 0;
  if (!begin()) return 0;
  for (const Kept& kept : kept_)
    if (kept.host == bytes.data() && kept.bytes == bytes.size() &&
        std::memcmp(written_.data() + kept.offset, bytes.data(), bytes.size()) == 0)
      return slot().arguments.address() + kept.offset;
  const size_t offset = put(bytes);
  if (kept_.size() == kMostKept) kept_.erase(kept_.begin());
  kept_.push_back({bytes.data(), offset, bytes.size()});
  return slot().arguments.address() + offset;
}

Copy Recorder::staged(std::span<const std::byte> bytes) {
  const size_t offset = put(bytes);
  return {&slot().arguments, offset, nullptr, 0, bytes.size()};
}

Ticket Recorder::submit() {
  if (!recording_ || !fault_) return Ticket{submitted_};
  barrier(kWork, VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
  recording_ = false;
  const Api& api = context_.api();
  VkResult result = api.EndCommandBuffer(slot().commands);
  if (result == VK_SUCCESS) {
    const uint64_t value = submitted_ + 1;
    VkTimelineSemaphoreSubmitInfo timeline{};
    timeline.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO;
    timeline.signalSemaphoreValueCount = 1;
    timeline.pSignalSemaphoreValues = &value;
    VkSubmitInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    info.pNext = &timeline;
    info.commandBufferCount = 1;
    info.pCommandBuffers = &slot().commands;
    info.signalSemaphoreCount = 1;
    info.pSignalSemaphores = &done_;
    result = api.QueueSubmit(context_.queue(), 1, &info, VK_NULL_HANDLE);
    if (result == VK_SUCCESS) slot().ticket = ++submitted_;
  }
  if (result != VK_SUCCESS) fail(context_.error_of(result, "submitting work"));
  return Ticket{submitted_};
}

bool Recorder::finished(Ticket ticket) const {
  if (!fault_) return true;
  uint64_t value = 0;
  const VkResult result = context_.api().GetSemaphoreCounterValue(context_.device(), done_, &value);
  return result != VK_SUCCESS || value >= static_cast<uint64_t>(ticket);
}

Status Recorder::wait(Ticket ticket) {
  if (!fault_) return fault_;
  if (finished(ticket)) return {};
  const auto value = static_cast<uint64_t>(ticket);
  VkSemaphoreWaitInfo info{};
  info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO;
  info.semaphoreCount = 1;
  info.pSemaphores = &done_;
  info.pValues = &value;
  const VkResult result = context_.api().WaitSemaphores(context_.device(), &info, UINT64_MAX);
  if (result != VK_SUCCESS) fail(context_.error_of(result, "waiting for work"));
  return fault_;
}

}  // namespace smoe::vulkan
