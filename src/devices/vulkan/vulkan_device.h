// A GPU as a device: each operation becomes one or two kernels, recorded and submitted.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compute/device.h"
#include "devices/vulkan/context.h"
#include "devices/vulkan/kernels.h"
#include "devices/vulkan/memory.h"
#include "devices/vulkan/recorder.h"

namespace smoe::vulkan {

class VulkanDevice final : public Device {
 public:
  // Fails: as make_vulkan_device.
  static Result<std::unique_ptr<VulkanDevice>> open(uint32_t index, const GpuOptions& options);
  ~VulkanDevice() override;

  std::string_view name() const override { return "gpu"; }
  std::string description() const override;
  bool deferred() const override { return true; }

  Result<Buffer> allocate(size_t bytes) override;
  Result<Buffer> adopt(std::span<std::byte> host) override;
  void refresh(View changed, size_t bytes) override;
  void release(uint64_t handle) override;

  size_t scratch_bytes(const Limits& limits) const override;
  Status reserve(const Limits& limits) override;

  void write(View to, std::span<const std::byte> from) override;
  void zero(const Rows& rows) override;
  void embed(const EmbedCall& call) override;
  void normalize(const NormCall& call) override;
  void project(const ProjectCall& call) override;
  void rotate(const RotateCall& call) override;
  void store_kv(const StoreKvCall& call) override;
  void attend(const AttendCall& call) override;
  void run_expert(const ExpertCall& call) override;
  void accumulate(const AccumulateCall& call) override;
  void gather(const GatherCall& call) override;

  Ticket submit() override;
  bool finished(Ticket ticket) const override { return recorder_->finished(ticket); }
  Status wait(Ticket ticket) override { return recorder_->wait(ticket); }
  Status read(const Rows& from, std::span<float> out) override;

  // All of one buffer into another of its size.
  void copy(const Buffer& from, const Buffer& to);

 private:
  struct Allocation {
    Memory memory;
    std::span<std::byte> host;  // of adopted memory
    Memory source;              // the same for the device to copy from; none when `memory` is it
    bool in_place = false;
  };
  // The second half of an expert, recorded once the first halves of several stand side by side.
  struct Down {
    Matrix weight;
    VkDeviceAddress hidden = 0;
    uint32_t hidden_stride = 0;
    Rows out;
  };
  struct Product;

  VulkanDevice() = default;
  Allocation& allocation(const View& view);
  VkDeviceAddress address(const View& view, size_t bytes);
  Range range(const Matrix& matrix);
  Range range(const Vector& vector);
  Range range(const Rows& rows);
  template <class T>
  VkDeviceAddress argument(std::span<const T> values) {
    return recorder_->argument(std::as_bytes(values));
  }
  void move_rows(const Rows& from, std::span<const uint32_t> rows, std::span<const float> weights,
                 const Rows& out, bool copies);
  void multiply(const Product& product);
  void multiply_pass(const Product& product, uint32_t first, uint32_t count, uint32_t tokens);
  void flush_downs();
  uint64_t keep(Allocation allocation);

  // The recorder goes first, waiting for the device.
  std::unique_ptr<Context> context_;
  std::unique_ptr<Kernels> kernels_;
  std::vector<std::optional<Allocation>> allocations_;  // handle - 1 is the index
  Memory hidden_;
  size_t hidden_floats_ = 0;
  size_t hidden_used_ = 0;
  Memory readback_;
  std::vector<Down> downs_;
  std::unique_ptr<Recorder> recorder_;
};

}  // namespace smoe::vulkan
