#include "devices/cpu/cpu_device.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "base/aligned.h"
#include "base/check.h"
#include "devices/cpu/attention.h"
#include "devices/cpu/host_views.h"
#include "devices/cpu/kernel_sets.h"
#include "devices/cpu/kv_page.h"
#include "devices/cpu/matrix.h"
#include "devices/cpu/parallel.h"
#include "devices/cpu/scratch.h"
#include "formats/tiles.h"

namespace smoe {
namespace {

using cpu::for_each_range;
using cpu::HostMatrix;
using cpu::HostRows;

// Every operation is done when it returns, so tickets are always finished.
class CpuDevice final : public Device {
 public:
  CpuDevice(ThreadPool& pool, const cpu::KernelTable& kernels, Activations activations)
      : pool_(pool), kernels_(kernels), rounds_(activations == Activations::kBF16) {}

  std::string_view name() const override { return "cpu"; }
  std::string description() const override {
    const unsigned threads = pool_.threads();
    return "CPU, " + std::string(kernels_.name) + ", " + std::to_string(threads) +
           (threads == 1 ? " thread" : " threads");
  }
  bool deferred() const override { return false; }

  Result<Buffer> allocate(size_t bytes) override {
    SMOE_TRY(AlignedBuffer memory, AlignedBuffer::allocate(bytes));
    const std::span<std::byte> host = memory.bytes();
    return Buffer(this, keep(std::move(memory)), host, host.size());
  }

  Result<Buffer> adopt(std::span<std::byte> host) override {
    return Buffer(this, kAdopted, host, host.size());
  }

  void refresh(View /*changed*/, size_t /*bytes*/) override {}

  void release(uint64_t handle) override {
    if (handle != kAdopted) owned_[handle - 1] = AlignedBuffer();
  }

  bool keeps(KvType type, uint32_t head_dim) const override {
    return head_dim > 0 && (type == KvType::kF32 || head_dim <= cpu::HostPages::kWidestHead);
  }

  size_t scratch_bytes(const Limits& limits) const override {
    return cpu::Scratch::bytes_for(limits, {kernels_, rounds_}, pool_.threads());
  }

  Status reserve(const Limits& limits) override {
    SMOE_TRY(scratch_, cpu::Scratch::allocate(limits, {kernels_, rounds_}, pool_.threads()));
    return {};
  }

  void write(View to, std::span<const std::byte> from) override {
    if (!from.empty()) std::memcpy(cpu::host_bytes(to, from.size()), from.data(), from.size());
  }

  void zero(const Rows& rows) override {
    const HostRows host(rows);
    for (uint32_t row = 0; row < host.count; ++row) std::fill_n(host.row(row), host.width, 0.0F);
  }

  void embed(const EmbedCall& call) override;
  void normalize(const NormCall& call) override;
  void rotate(const RotateCall& call) override;
  void accumulate(const AccumulateCall& call) override;
  void gather(const GatherCall& call) override;

  void project(const ProjectCall& call) override {
    cpu::project(means(), call);
    if (call.onto.count > 0) accumulate({call.out, {}, {}, call.onto});
  }
  void store_kv(const StoreKvCall& call) override { cpu::store_kv(means(), call); }
  void attend(const AttendCall& call) override { cpu::attend(means(), call); }
  void run_expert(const ExpertCall& call) override { cpu::run_expert(means(), call); }

  Ticket submit() override { return Ticket{++submitted_}; }
  bool finished(Ticket) const override { return true; }
  Status wait(Ticket) override { return {}; }

  Status read(const Rows& from, std::span<float> out) override {
    const HostRows host(from);
    SMOE_CHECK(out.size() == size_t{host.count} * host.width);
    for (uint32_t row = 0; row < host.count; ++row)
      std::copy_n(host.row(row), host.width, out.data() + size_t{row} * host.width);
    return {};
  }

 private:
  static constexpr uint64_t kAdopted = 0;

  cpu::Means means() { return {kernels_, pool_, scratch_, rounds_}; }

  uint64_t keep(AlignedBuffer memory) {
    const auto free = std::find_if(owned_.begin(), owned_.end(),
                                   [](const AlignedBuffer& buffer) { return buffer.size() == 0; });
    const auto index = static_cast<uint64_t>(free - owned_.begin());
    if (free == owned_.end()) {
      owned_.push_back(std::move(memory));
    } else {
      *free = std::move(memory);
    }
    return index + 1;
  }

  ThreadPool& pool_;
  const cpu::KernelTable& kernels_;
  const bool rounds_;  // activations for BF16 weights to BF16
  cpu::Scratch scratch_;
  std::vector<AlignedBuffer> owned_;  // handle - 1 is the index; empty ones are free
  uint64_t submitted_ = 0;
};

void CpuDevice::embed(const EmbedCall& call) {
  const HostRows out(call.out);
  if (out.count == 0) return;
  const HostMatrix table(call.table);
  SMOE_CHECK(out.count == call.tokens.size() && out.width == table.cols);
  const size_t bytes = tile_bytes(table.format, table.cols);
  for_each_range(pool_, out.count, uint64_t{4} * out.count * out.width,
                 [&](uint32_t begin, uint32_t end, unsigned) {
                   for (uint32_t i = begin; i < end; ++i) {
                     const size_t row = index_of(call.tokens[i]);
                     SMOE_CHECK(row < table.rows);
                     const std::byte* tile = table.tiles + row / kTileRows * table.tile_stride;
                     unpack_row(table.format, {tile, bytes}, static_cast<uint32_t>(row % kTileRows),
                                {out.row(i), out.width});
                   }
                 });
}

void CpuDevice::normalize(const NormCall& call) {
  const HostRows in(call.in);
  const HostRows out(call.out);
  if (in.count == 0) return;
  SMOE_CHECK(in.count == out.count && in.width == out.width);
  SMOE_CHECK(call.group > 0 && in.width % call.group == 0 && call.weight.width == call.group);
  const float* weight = cpu::host_floats(call.weight.view, call.group);
  for_each_range(pool_, in.count, uint64_t{2} * in.count * in.width,
                 [&](uint32_t begin, uint32_t end, unsigned) {
                   for (uint32_t row = begin; row < end; ++row) {
                     for (uint32_t at = 0; at < in.width; at += call.group)
                       kernels_.normalize(
                           {in.row(row) + at, weight, call.group, call.epsilon, out.row(row) + at});
                   }
                 });
}

void CpuDevice::rotate(const RotateCall& call) {
  const HostRows rows(call.rows);
  const HostRows angles(call.angles);
  if (rows.count == 0) return;
  SMOE_CHECK(rows.width == call.heads * call.head_dim && angles.count == rows.count);
  SMOE_CHECK(call.dims % 2 == 0 && call.dims <= call.head_dim && angles.width == call.dims);
  for_each_range(pool_, rows.count, uint64_t{2} * rows.count * rows.width,
                 [&](uint32_t begin, uint32_t end, unsigned) {
                   for (uint32_t row = begin; row < end; ++row) {
                     for (uint32_t head = 0; head < call.heads; ++head)
                       kernels_.rotate(rows.row(row) + size_t{head} * call.head_dim,
                                       angles.row(row), call.dims);
                   }
                 });
}

void CpuDevice::accumulate(const AccumulateCall& call) {
  const HostRows from(call.from);
  const HostRows out(call.out);
  if (from.count == 0) return;
  SMOE_CHECK(from.width == out.width);
  SMOE_CHECK(call.rows.empty() ? from.count <= out.count : from.count == call.rows.size());
  SMOE_CHECK(call.weights.empty() || from.count == call.weights.size());
  for_each_range(pool_, from.count, uint64_t{from.count} * from.width,
                 [&](uint32_t begin, uint32_t end, unsigned) {
                   for (uint32_t i = begin; i < end; ++i) {
                     const uint32_t row = call.rows.empty() ? i : call.rows[i];
                     SMOE_CHECK(row < out.count);
                     const float weight = call.weights.empty() ? 1.0F : call.weights[i];
                     kernels_.add_weighted(from.row(i), weight, from.width, out.row(row));
                   }
                 });
}

void CpuDevice::gather(const GatherCall& call) {
  const HostRows in(call.in);
  const HostRows out(call.out);
  SMOE_CHECK(out.count == call.rows.size());
  if (out.count == 0) return;
  SMOE_CHECK(in.width == out.width);
  for (uint32_t i = 0; i < out.count; ++i) {
    SMOE_CHECK(call.rows[i] < in.count);
    std::copy_n(in.row(call.rows[i]), in.width, out.row(i));
  }
}

}  // namespace

Result<std::unique_ptr<Device>> make_cpu_device(ThreadPool& pool, CpuKernels kernels,
                                                Activations activations) {
  SMOE_TRY(const cpu::KernelTable* table, cpu::choose_kernels(kernels, detect_cpu_features()));
  return std::unique_ptr<Device>(std::make_unique<CpuDevice>(pool, *table, activations));
}

}  // namespace smoe
