// A GPU as a device: each operation becomes one or two kernels, recorded and submitted.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compute/device.h"
#include "devices/vulkan/context.h"
#include "devices/vulkan/kernel_shapes.h"
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
  bool shares_memory() const override { return context_->shared_memory(); }
  uint64_t memory_bytes() const override;
  Result<Buffer> adopt_source(std::span<std::byte> host) override;
  void upload(View to, View source, size_t bytes) override;
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
  void prepare_heads(const HeadsCall& call) override;

  bool routes() const override { return true; }
  void route(const RouteCall& call) override;
  void place_record(View table, uint32_t index, View record) override;
  void run_routed(const RoutedCall& call) override;

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
  // A norm that the projections after it do; done: one of them has.
  struct PendingNorm {
    NormCall call;
    bool done = false;
  };
  struct Product;

  VulkanDevice() = default;
  Allocation& allocation(const View& view);
  VkDeviceAddress address(const View& view, size_t bytes);
  Range range(const View& view, size_t bytes) { return {address(view, bytes), bytes}; }
  Range range(const Matrix& matrix);
  Range range(const Vector& vector);
  Range range(const Rows& rows);
  template <class T>
  VkDeviceAddress argument(std::span<const T> values) {
    return recorder_->argument(std::as_bytes(values));
  }
  void move_rows(const Rows& from, std::span<const uint32_t> rows, std::span<const float> weights,
                 const Rows& out, bool copies);
  // Of a shape: what the kernel is compiled for; a software Vulkan has one kernel for all.
  uint32_t compiled_pieces(const ProductShape& shape) const {
    return context_->software() ? 0 : shape.chain_pieces;
  }
  struct RoutedProduct;
  void multiply_routed(const RoutedCall& call, const RoutedProduct& product);
  Range pages_range(const KvPages& pages, std::span<const uint32_t> page_table);
  void multiply(const Product& product);
  void multiply_pass(const Product& product, uint32_t first, uint32_t count, uint32_t tokens);
  void flush_downs();
  // Records what waits for the operation after it.
  void catch_up();
  void catch_up_but_downs();
  bool does_norm(const ProjectCall& call) const;
  void normalize_now(const NormCall& call);
  void route_now(const RouteCall& call);
  uint64_t keep(Allocation allocation);
  void bring(const Allocation& source, size_t offset, View to, size_t bytes);

  // The recorder goes first, waiting for the device.
  std::unique_ptr<Context> context_;
  std::unique_ptr<Kernels> kernels_;
  std::vector<std::optional<Allocation>> allocations_;  // handle - 1 is the index
  uint32_t most_threads_ = 0;                           // of a product's workgroup
  Memory hidden_;
  size_t hidden_floats_ = 0;
  size_t hidden_used_ = 0;
  Memory readback_;
  std::vector<Down> downs_;
  std::optional<PendingNorm> norm_;
  std::optional<RouteCall> route_;
  std::unique_ptr<Recorder> recorder_;
};

}  // namespace smoe::vulkan
