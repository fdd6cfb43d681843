#include "devices/vulkan/vulkan_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "base/units.h"

namespace smoe::vulkan {
namespace {

constexpr size_t kReadbackBytes = 4 * kMiB;
// A few experts of a few tokens, or two of a whole chunk, have their hidden rows side by side.
constexpr uint32_t kFewHiddenRows = 64;

size_t hidden_floats(const Device::Limits& limits) {
  const size_t widest = align_up(size_t{limits.widest}, size_t{kTileRows});
  return widest * std::max(2 * limits.rows, kFewHiddenRows);
}

}  // namespace

Result<std::unique_ptr<VulkanDevice>> VulkanDevice::open(uint32_t index,
                                                         const GpuOptions& options) {
  std::unique_ptr<VulkanDevice> device(new VulkanDevice());
  SMOE_TRY(device->context_, Context::open(index, options));
  SMOE_TRY(device->kernels_, Kernels::open(*device->context_, options.cache_folder));
  SMOE_TRY(device->recorder_, Recorder::open(*device->context_, *device->kernels_));
  SMOE_TRY(device->readback_,
           Memory::allocate(*device->context_, kReadbackBytes, MemoryKind::kReadback));
  device->downs_.reserve(kFewHiddenRows);
  // A software Vulkan gains nothing by more threads.
  const VkPhysicalDeviceLimits& limits = device->context_->properties().limits;
  const bool wide = limits.maxComputeWorkGroupInvocations >= kWideThreads &&
                    limits.maxComputeWorkGroupSize[0] >= kWideThreads;
  device->most_threads_ = wide && !device->context_->software() ? kWideThreads : kLeastThreads;
  return device;
}

VulkanDevice::~VulkanDevice() { recorder_.reset(); }

std::string VulkanDevice::description() const {
  const GpuFacts& facts = context_->facts();
  return fmt::format("gpu:{}, {}, Vulkan {}, {} of {} memory", facts.index, facts.name,
                     facts.version, format_bytes(facts.memory_bytes),
                     context_->shared_memory() ? "shared" : "its own");
}

uint64_t VulkanDevice::keep(Allocation allocation) {
  const auto free = std::find_if(allocations_.begin(), allocations_.end(),
                                 [](const auto& known) { return !known.has_value(); });
  const auto index = static_cast<uint64_t>(free - allocations_.begin());
  if (free == allocations_.end()) {
    allocations_.emplace_back(std::move(allocation));
  } else {
    free->emplace(std::move(allocation));
  }
  return index + 1;
}

Result<Buffer> VulkanDevice::allocate(size_t bytes) {
  Allocation made;
  SMOE_TRY(made.memory, Memory::allocate(*context_, bytes, MemoryKind::kDevice));
  made.in_place = true;
  const std::span<std::byte> mapped = made.memory.mapped();
  const size_t whole = made.memory.bytes();
  if (mapped.empty()) {
    recorder_->fill(made.memory, 0, whole);
  } else {
    std::memset(mapped.data(), 0, whole);
  }
  return Buffer(this, keep(std::move(made)), mapped, whole);
}

// Where host and device share memory the device reads what the disk wrote. Elsewhere it has a copy,
// and takes the bytes from where they lie.
Result<Buffer> VulkanDevice::adopt(std::span<std::byte> host) {
  Allocation made;
  made.host = host;
  auto imported = Memory::import(*context_, host);
  if (imported && context_->shared_memory()) {
    made.memory = *std::move(imported);
    made.in_place = true;
    return Buffer(this, keep(std::move(made)), host, host.size());
  }
  if (imported) {
    made.source = *std::move(imported);
  } else {
    log::debug("{}: {} cannot be used in place and are copied ({})", context_->facts().name,
               format_bytes(host.size()), imported.error().message);
  }
  SMOE_TRY(made.memory, Memory::allocate(*context_, host.size(), MemoryKind::kDevice));
  return Buffer(this, keep(std::move(made)), {}, host.size());
}

void VulkanDevice::refresh(View changed, size_t bytes) {
  const Allocation& known = allocation(changed);
  if (!known.in_place) bring(known, changed.offset, changed, bytes);
}

uint64_t VulkanDevice::memory_bytes() const {
  if (context_->shared_memory()) return 0;
  // The rest is for the driver, the desktop and what other programs have there.
  const uint64_t whole = context_->facts().memory_bytes;
  return whole - whole / 10;
}

Result<Buffer> VulkanDevice::adopt_source(std::span<std::byte> host) {
  Allocation made;
  made.host = host;
  if (auto imported = Memory::import(*context_, host)) made.source = *std::move(imported);
  return Buffer(this, keep(std::move(made)), {}, host.size());
}

void VulkanDevice::upload(View to, View source, size_t bytes) {
  bring(allocation(source), source.offset, to, bytes);
}

// Where the driver could not import the host's memory, the host copies first.
void VulkanDevice::bring(const Allocation& source, size_t offset, View to, size_t bytes) {
  if (bytes == 0) return;
  SMOE_CHECK(offset <= source.host.size() && bytes <= source.host.size() - offset);
  if (!source.source) return write(to, source.host.subspan(offset, bytes));
  catch_up();
  static_cast<void>(address(to, bytes));
  recorder_->copy({&source.source, offset, &allocation(to).memory, to.offset, bytes});
}

void VulkanDevice::release(uint64_t handle) {
  catch_up();
  // What went wrong is kept by the recorder, for the next who waits.
  static_cast<void>(recorder_->wait(recorder_->submit()));
  allocations_[handle - 1].reset();
}

size_t VulkanDevice::scratch_bytes(const Limits& limits) const {
  return align_up(hidden_floats(limits) * sizeof(float), kPageBytes);
}

Status VulkanDevice::reserve(const Limits& limits) {
  SMOE_DO(wait(submit()));
  hidden_floats_ = hidden_floats(limits);
  SMOE_TRY(hidden_,
           Memory::allocate(*context_, hidden_floats_ * sizeof(float), MemoryKind::kDevice));
  return {};
}

void VulkanDevice::write(View to, std::span<const std::byte> from) {
  catch_up();
  static_cast<void>(address(to, from.size()));
  while (!from.empty()) {
    const auto piece = from.first(std::min(from.size(), Recorder::kArgumentBytes / 2));
    Copy copy = recorder_->staged(piece);
    copy.to = &allocation(to).memory;
    copy.to_offset = to.offset;
    recorder_->copy(copy);
    to.offset += piece.size();
    from = from.subspan(piece.size());
  }
}

Ticket VulkanDevice::submit() {
  catch_up();
  return recorder_->submit();
}

Status VulkanDevice::read(const Rows& from, std::span<float> out) {
  SMOE_CHECK(out.size() == size_t{from.count} * from.width);
  if (from.count == 0) return {};
  const Range whole = range(from);
  Memory& memory = allocation(from.view).memory;
  const size_t row_bytes = size_t{from.stride} * sizeof(float);
  const size_t used_bytes = size_t{from.width} * sizeof(float);
  if (!memory.mapped().empty()) {
    SMOE_DO(wait(submit()));
    const std::byte* host = memory.mapped().data() + from.view.offset;
    for (size_t row = 0; row < from.count; ++row)
      std::memcpy(out.data() + row * from.width, host + row * row_bytes, used_bytes);
    return {};
  }
  catch_up();
  const size_t offset = from.view.offset;
  for (size_t done = 0; done < whole.bytes; done += kReadbackBytes) {
    const size_t piece = std::min(kReadbackBytes, whole.bytes - done);
    recorder_->copy({&memory, offset + done, &readback_, 0, piece});
    SMOE_DO(wait(submit()));
    // Of every row the part that lies in this piece.
    for (size_t row = done / row_bytes; row < from.count; ++row) {
      const size_t begin = std::max(row * row_bytes, done);
      const size_t end = std::min(row * row_bytes + used_bytes, done + piece);
      if (row * row_bytes >= done + piece) break;
      if (begin >= end) continue;
      std::memcpy(
          reinterpret_cast<std::byte*>(out.data() + row * from.width) + (begin - row * row_bytes),
          readback_.mapped().data() + (begin - done), end - begin);
    }
  }
  return {};
}

void VulkanDevice::copy(const Buffer& from, const Buffer& to) {
  SMOE_CHECK(from.bytes() == to.bytes());
  catch_up();
  recorder_->copy(
      {&allocation({&from, 0}).memory, 0, &allocation({&to, 0}).memory, 0, from.bytes()});
}

VulkanDevice::Allocation& VulkanDevice::allocation(const View& view) {
  SMOE_CHECK(view.buffer != nullptr && view.buffer->handle() <= allocations_.size());
  return *allocations_[view.buffer->handle() - 1];
}

VkDeviceAddress VulkanDevice::address(const View& view, size_t bytes) {
  Allocation& known = allocation(view);
  SMOE_CHECK(view.offset <= known.memory.bytes() && bytes <= known.memory.bytes() - view.offset);
  return known.memory.address() + view.offset;
}

Range VulkanDevice::range(const Matrix& matrix) {
  const uint64_t tile = tile_bytes(matrix.format, matrix.cols);
  SMOE_CHECK(matrix.rows > 0 && matrix.cols % info(matrix.format).block_k == 0);
  SMOE_CHECK(matrix.tile_stride >= tile && matrix.tile_stride % 16 == 0);
  SMOE_CHECK(matrix.view.offset % 16 == 0);
  const size_t bytes = (ceil_div(matrix.rows, kTileRows) - 1) * matrix.tile_stride + tile;
  return {address(matrix.view, bytes), bytes};
}

Range VulkanDevice::range(const Vector& vector) {
  SMOE_CHECK(vector.view.offset % sizeof(float) == 0);
  const size_t bytes = size_t{vector.width} * sizeof(float);
  return {address(vector.view, bytes), bytes};
}

Range VulkanDevice::range(const Rows& rows) {
  SMOE_CHECK(rows.width <= rows.stride && rows.stride % 16 == 0 && rows.view.offset % 16 == 0);
  if (rows.count == 0) return {};
  const size_t bytes = (size_t{rows.count - 1} * rows.stride + rows.width) * sizeof(float);
  return {address(rows.view, bytes), bytes};
}

}  // namespace smoe::vulkan

namespace smoe {

Result<std::vector<GpuFacts>> list_gpus() {
  SMOE_TRY(const std::unique_ptr<vulkan::Instance> instance, vulkan::Instance::open());
  SMOE_TRY(const std::vector<VkPhysicalDevice> gpus, instance->gpus());
  std::vector<GpuFacts> facts;
  for (uint32_t i = 0; i < gpus.size(); ++i) facts.push_back(instance->facts_of(gpus[i], i));
  return facts;
}

Result<std::unique_ptr<Device>> make_vulkan_device(uint32_t index, const GpuOptions& options) {
  SMOE_TRY(std::unique_ptr<vulkan::VulkanDevice> device,
           vulkan::VulkanDevice::open(index, options));
  return std::unique_ptr<Device>(std::move(device));
}

}  // namespace smoe
