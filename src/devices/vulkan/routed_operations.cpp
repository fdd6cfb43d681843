// Operations that do a whole part of a layer: heads before attention, and experts that the device
// chooses itself.
#include <array>
#include <optional>
#include <span>
#include <utility>

#include "base/check.h"
#include "devices/vulkan/kernel_shapes.h"
#include "devices/vulkan/vulkan_device.h"

namespace smoe::vulkan {
namespace {

constexpr uint32_t kMostExperts = 1024;
constexpr uint32_t kMostActive = 64;
constexpr uint32_t kColumnThreads = 64;

// Push constants, as the kernels of the same names have them: `kAddresses` addresses, then numbers.
struct HeadsPush {
  static constexpr uint32_t kAddresses = 9;
  VkDeviceAddress query, key, value, query_norm, key_norm, angles, pages, places, page_table;
  uint32_t query_stride, key_stride, value_stride, angle_stride;
  uint32_t heads_of_kinds, head_dim, dims;
  float epsilon;
};
struct RoutePush {
  static constexpr uint32_t kAddresses = 2;
  VkDeviceAddress logits, out;
  uint32_t logit_stride, out_stride, experts, active_experts;
  float scale;
};
struct RoutedProductPush {
  static constexpr uint32_t kAddresses = 5;
  VkDeviceAddress table, routing, in, out, logits;
  uint32_t weights_begin, up_begin, tile_words, up_tile_words, outputs, columns;
  uint32_t in_stride, out_stride, chain_groups, chain_pieces, chain_slots;
  uint32_t routing_stride, active_experts, choices_share, logit_stride, experts;
  float scale;
};
struct CombinePush {
  static constexpr uint32_t kAddresses = 4;
  VkDeviceAddress routing, outputs, shared, onto;
  uint32_t routing_stride, output_stride, shared_stride, onto_stride, active_experts, width;
};

}  // namespace

void VulkanDevice::prepare_heads(const HeadsCall& call) {
  catch_up();
  if (call.query.count == 0) return;
  const KvPages& pages = call.pages;
  const uint32_t dim = pages.head_dim;
  const bool normed = static_cast<bool>(call.query_norm);
  // Heads that are normed one by one and wide enough for no thread to have more than its share:
  // else the operations themselves.
  if (normed != static_cast<bool>(call.key_norm) || dim > kMostHeadDim)
    return Device::prepare_heads(call);
  SMOE_CHECK(call.query.width == call.heads * dim && call.key.width == pages.kv_heads * dim &&
             call.value.width == call.key.width);
  SMOE_CHECK(call.places.size() == call.query.count && call.key.count == call.query.count &&
             call.value.count == call.query.count);
  SMOE_CHECK(!normed || (call.query_norm.width == dim && call.key_norm.width == dim));
  SMOE_CHECK(call.dims % 2 == 0 && call.dims <= dim &&
             (call.dims == 0 || call.angles.width == call.dims));
  for (const TokenPlace& place : call.places)
    SMOE_CHECK(place.page_begin + place.position / kPagePositions < call.page_table.size());

  recorder_->make_room(call.places.size_bytes() + call.page_table.size_bytes());
  const Range query = range(call.query);
  const std::array<Range, 5> reads = {
      range(call.key), range(call.value), normed ? range(call.query_norm) : Range{},
      normed ? range(call.key_norm) : Range{}, call.dims > 0 ? range(call.angles) : Range{}};
  const Range all = pages_range(pages, call.page_table);
  const HeadsPush push{query.begin,
                       reads[0].begin,
                       reads[1].begin,
                       reads[2].begin,
                       reads[3].begin,
                       reads[4].begin,
                       all.begin,
                       argument(call.places),
                       argument(call.page_table),
                       call.query.stride,
                       call.key.stride,
                       call.value.stride,
                       call.angles.stride,
                       call.heads | pages.kv_heads << 16,
                       dim,
                       call.dims,
                       call.epsilon};
  recorder_->dispatch({Kernel::kHeads,
                       {normed ? 1U : 0U},
                       push_of(push),
                       call.heads + 2 * pages.kv_heads,
                       call.query.count,
                       reads,
                       query,
                       all});
}

// Waits for the operation after it: run_routed() chooses on the way, so a stage is saved.
void VulkanDevice::route(const RouteCall& call) {
  catch_up();
  if (call.logits.count == 0) return;
  SMOE_CHECK(call.logits.width <= kMostExperts && call.active_experts <= kMostActive);
  SMOE_CHECK(call.active_experts > 0 && call.active_experts <= call.logits.width);
  SMOE_CHECK(call.out.count == call.logits.count && call.out.width == 3 * call.active_experts);
  route_ = call;
}

void VulkanDevice::route_now(const RouteCall& call) {
  const std::array<Range, 1> reads = {range(call.logits)};
  const Range out = range(call.out);
  const RoutePush push{reads[0].begin,    out.begin,           call.logits.stride, call.out.stride,
                       call.logits.width, call.active_experts, call.scale};
  recorder_->dispatch({Kernel::kRoute,
                       {call.softmax_of_chosen ? 1U : 0U, call.renormalize ? 1U : 0U},
                       push_of(push),
                       1,
                       call.logits.count,
                       reads,
                       out});
}

void VulkanDevice::place_record(View table, uint32_t index, View record) {
  const VkDeviceAddress where = address(record, 1);
  table.offset += index * sizeof where;
  write(table, std::as_bytes(std::span(&where, 1)));
}

// gate and up, or down, of every choice of every token.
struct VulkanDevice::RoutedProduct {
  Matrix weight;
  Matrix up;
  Rows in;
  bool choices_share = false;  // one input row a token, not one a choice
  Rows out;
  std::optional<RouteCall> choice;  // is made on the way
};

void VulkanDevice::multiply_routed(const RoutedCall& call, const RoutedProduct& product) {
  const Matrix& weight = product.weight;
  const bool gated = product.up.rows > 0;
  const ProductShape shape = shape_of(weight.rows, weight.cols, most_threads_);
  SMOE_CHECK(weight.view.offset % 16 == 0 && product.up.view.offset % 16 == 0);
  SMOE_CHECK(weight.tile_stride % 16 == 0 && product.up.tile_stride % 16 == 0);
  const size_t experts = (call.table.buffer->bytes() - call.table.offset) / sizeof(VkDeviceAddress);
  // Whoever comes after the table was written comes after the records as well.
  const bool chooses = product.choice.has_value();
  const RouteCall choice = product.choice.value_or(RouteCall{});
  const Range routing = range(call.routing);
  const std::array<Range, 3> reads = {range(call.table, experts * sizeof(VkDeviceAddress)),
                                      range(product.in), chooses ? range(choice.logits) : routing};
  const Range out = range(product.out);
  const RoutedProductPush push{reads[0].begin,
                               routing.begin,
                               reads[1].begin,
                               out.begin,
                               chooses ? reads[2].begin : 0,
                               static_cast<uint32_t>(weight.view.offset),
                               static_cast<uint32_t>(product.up.view.offset),
                               words_of(weight.tile_stride),
                               words_of(product.up.tile_stride),
                               weight.rows,
                               weight.cols,
                               product.in.stride / 4,
                               product.out.stride,
                               shape.chain_groups,
                               shape.chain_pieces,
                               shape.chain_slots,
                               call.routing.stride,
                               call.active_experts,
                               product.choices_share ? 1U : 0U,
                               choice.logits.stride,
                               choice.logits.width,
                               choice.scale};
  const auto format = static_cast<uint32_t>(weight.format);
  recorder_->dispatch(
      {context_->software() ? Kernel::kProductRoutedLooped : Kernel::kProductRouted,
       {format, gated ? static_cast<uint32_t>(product.up.format) : format, 1, gated ? 1U : 0U,
        shape.ragged, chooses ? 1U : 0U, choice.softmax_of_chosen ? 1U : 0U,
        choice.renormalize ? 1U : 0U, compiled_pieces(shape), shape.threads},
       push_of(push),
       shape.groups,
       product.out.count,
       reads,
       out,
       chooses ? routing : Range{}});
}

void VulkanDevice::run_routed(const RoutedCall& call) {
  const bool chooses = route_ && route_->out.view.buffer == call.routing.view.buffer &&
                       route_->out.view.offset == call.routing.view.offset;
  const std::optional<RouteCall> choice =
      chooses ? std::exchange(route_, std::nullopt) : std::nullopt;
  catch_up();
  if (call.in.count == 0) return;
  const uint32_t choices = call.in.count * call.active_experts;
  SMOE_CHECK(call.routing.count == call.in.count && call.routing.width == 3 * call.active_experts);
  SMOE_CHECK(call.in.width == call.gate.cols && call.gate.cols == call.up.cols &&
             call.gate.rows == call.up.rows && call.down.cols == call.gate.rows);
  SMOE_CHECK(call.hidden.count == choices && call.hidden.width == call.gate.rows);
  SMOE_CHECK(call.outputs.count == choices && call.outputs.width == call.down.rows);
  SMOE_CHECK(call.onto.count == call.in.count && call.onto.width == call.down.rows);
  multiply_routed(call, {call.gate, call.up, call.in, true, call.hidden, choice});
  multiply_routed(call, {call.down, {}, call.hidden, false, call.outputs, {}});

  const bool shared = call.shared.count > 0;
  SMOE_CHECK(!shared ||
             (call.shared.count == call.in.count && call.shared.width == call.onto.width));
  const std::array<Range, 3> reads = {range(call.routing), range(call.outputs),
                                      shared ? range(call.shared) : Range{}};
  const Range onto = range(call.onto);
  const CombinePush push{reads[0].begin,     reads[1].begin,      reads[2].begin,
                         onto.begin,         call.routing.stride, call.outputs.stride,
                         call.shared.stride, call.onto.stride,    call.active_experts,
                         call.onto.width};
  recorder_->dispatch({Kernel::kCombine,
                       {shared ? 1U : 0U},
                       push_of(push),
                       ceil_div(call.onto.width, kColumnThreads),
                       call.in.count,
                       reads,
                       onto});
}

}  // namespace smoe::vulkan
