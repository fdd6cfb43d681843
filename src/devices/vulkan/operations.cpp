// The operations of the device as kernels: checks of the shapes, push constants, sizes of
// dispatches.
#include <algorithm>
#include <array>
#include <span>

#include "base/check.h"
#include "base/units.h"
#include "devices/vulkan/vulkan_device.h"

namespace smoe::vulkan {
namespace {

constexpr uint32_t kSpanColumns = 32;
constexpr uint32_t kChains = 64;  // of a workgroup
constexpr uint32_t kChainsOfGroup = 8;
constexpr uint32_t kRowThreads = 64;  // threads of a workgroup in the kernels that go by rows
constexpr uint32_t kMostHeadDim = 512;
// Tokens that share the loads of weights, the most first.
constexpr std::array<uint32_t, 3> kPasses = {8, 4, 1};

// Push constants, as the kernels of the same names have them: `kAddresses` addresses, then numbers.
struct EmbedPush {
  static constexpr uint32_t kAddresses = 3;
  VkDeviceAddress table, tokens, out;
  uint32_t tile_words, columns, out_stride;
};
struct NormalizePush {
  static constexpr uint32_t kAddresses = 3;
  VkDeviceAddress in, weight, out;
  uint32_t in_stride, out_stride, group;
  float epsilon;
};
struct ProductPush {
  static constexpr uint32_t kAddresses = 6;
  VkDeviceAddress weights, up, bias, in, chosen, out;
  uint32_t tile_words, up_tile_words, outputs, columns, in_stride, out_stride, tokens;
  uint32_t chain_spans, chain_slots, has_bias, has_chosen;
};
struct RotatePush {
  static constexpr uint32_t kAddresses = 2;
  VkDeviceAddress rows, angles;
  uint32_t stride, angle_stride, heads, head_dim, dims;
};
struct StoreKvPush {
  static constexpr uint32_t kAddresses = 5;
  VkDeviceAddress key, value, pages, places, page_table;
  uint32_t key_stride, value_stride, kv_heads, head_dim;
};
struct AttendPush {
  static constexpr uint32_t kAddresses = 5;
  VkDeviceAddress query, pages, places, page_table, out;
  uint32_t query_stride, out_stride, heads, kv_heads, head_dim;
  float scale;
};
struct AccumulatePush {
  static constexpr uint32_t kAddresses = 4;
  VkDeviceAddress from, chosen, weights, out;
  uint32_t from_stride, out_stride, width, has_chosen, has_weights;
};

template <class T>
Push bytes_of(const T& push) {
  return {std::as_bytes(std::span(&push, 1)), T::kAddresses};
}

uint32_t words_of(uint64_t bytes) { return static_cast<uint32_t>(bytes / 16); }

}  // namespace

struct VulkanDevice::Product {
  Matrix weight;
  Matrix up;  // for gate and up together
  Vector bias;
  VkDeviceAddress in = 0;  // tokens' rows, or all rows when some are chosen
  Range in_range;
  uint32_t in_stride = 0;
  std::span<const uint32_t> chosen;
  uint32_t tokens = 0;
  VkDeviceAddress out = 0;
  uint32_t out_stride = 0;
};

// Passes of eight tokens while there are so many, then smaller ones: a row's bits do not depend on
// who shares its pass.
void VulkanDevice::multiply(const Product& product) {
  uint32_t done = 0;
  for (const uint32_t pass : kPasses) {
    if (context_->software() && pass == kPasses[0]) continue;  // it gains nothing there
    uint32_t count = (product.tokens - done) / pass * pass;
    // Two or three tokens share one pass of four rather than take one each.
    if (pass == 4 && product.tokens - done > 1) count = product.tokens - done;
    if (count > 0) multiply_pass(product, done, count, pass);
    done += count;
  }
}

void VulkanDevice::multiply_pass(const Product& product, uint32_t first, uint32_t count,
                                 uint32_t tokens) {
  const Matrix& weight = product.weight;
  const uint32_t spans = ceil_div(weight.cols, kSpanColumns);
  const uint32_t chain_spans = ceil_div(spans, kChains);
  const uint32_t chain_slots = align_up(ceil_div(spans, chain_spans), kChainsOfGroup);
  const bool gated = static_cast<bool>(product.up);
  const bool ragged = weight.cols % kSpanColumns != 0;
  const uint32_t tiles = ceil_div(weight.rows, kTileRows);

  recorder_->make_room(product.chosen.size_bytes());
  const size_t in_row_bytes = size_t{product.in_stride} * sizeof(float);
  const bool by_index = !product.chosen.empty();
  ProductPush push{};
  // Weights too: they arrive while the model computes, and a record of the ring is replaced by
  // another one some time.
  const Range reads[] = {product.in_range, range(weight), gated ? range(product.up) : Range{},
                         product.bias ? range(product.bias) : Range{}};
  push.weights = reads[1].begin;
  push.up = reads[2].begin;
  push.bias = reads[3].begin;
  push.in = by_index ? product.in : product.in + first * in_row_bytes;
  push.chosen = by_index ? argument(product.chosen) + first * sizeof(uint32_t) : 0;
  push.out = product.out + first * size_t{product.out_stride} * sizeof(float);
  push.tile_words = words_of(weight.tile_stride);
  push.up_tile_words = gated ? words_of(product.up.tile_stride) : 0;
  push.outputs = weight.rows;
  push.columns = weight.cols;
  push.in_stride = product.in_stride / 4;
  push.out_stride = product.out_stride;
  push.tokens = count;
  push.chain_spans = chain_spans;
  push.chain_slots = chain_slots;
  push.has_bias = product.bias ? 1 : 0;
  push.has_chosen = by_index ? 1 : 0;

  const size_t out_bytes = (size_t{count - 1} * product.out_stride + weight.rows) * sizeof(float);
  const auto format = static_cast<uint32_t>(weight.format);
  recorder_->dispatch(
      {context_->software() ? Kernel::kProductLooped : Kernel::kProduct,
       {format, gated ? static_cast<uint32_t>(product.up.format) : format, tokens, gated, ragged},
       bytes_of(push),
       ceil_div(tiles, kChains / chain_slots),
       ceil_div(count, tokens),
       reads,
       {push.out, out_bytes}});
}

void VulkanDevice::project(const ProjectCall& call) {
  flush_downs();
  if (call.in.count == 0) return;
  SMOE_CHECK(call.in.count == call.out.count && call.in.width == call.weight.cols &&
             call.out.width == call.weight.rows);
  SMOE_CHECK(!call.bias || call.bias.width == call.weight.rows);
  const Range in = range(call.in);
  multiply({call.weight,
            {},
            call.bias,
            in.begin,
            in,
            call.in.stride,
            {},
            call.in.count,
            range(call.out).begin,
            call.out.stride});
}

// The first half now, the second when something else comes: so the halves of a layer's experts
// stand side by side, and the device waits once between them, not once an expert.
void VulkanDevice::run_expert(const ExpertCall& call) {
  const uint32_t tokens =
      call.rows.empty() ? call.in.count : static_cast<uint32_t>(call.rows.size());
  if (tokens == 0) return;
  SMOE_CHECK(call.out.count == tokens && call.in.width == call.gate.cols);
  SMOE_CHECK(call.gate.rows == call.up.rows && call.gate.cols == call.up.cols);
  SMOE_CHECK(call.down.cols == call.gate.rows && call.out.width == call.down.rows);
  for (const uint32_t row : call.rows) SMOE_CHECK(row < call.in.count);

  const uint32_t stride = align_up(call.gate.rows, kTileRows);
  const size_t floats = size_t{tokens} * stride;
  SMOE_CHECK(floats <= hidden_floats_);
  if (hidden_used_ + floats > hidden_floats_ || downs_.size() == downs_.capacity()) flush_downs();
  const VkDeviceAddress hidden = hidden_.address() + hidden_used_ * sizeof(float);
  hidden_used_ += floats;

  const Range in = range(call.in);
  static_cast<void>(range(call.down));
  multiply(
      {call.gate, call.up, {}, in.begin, in, call.in.stride, call.rows, tokens, hidden, stride});
  downs_.push_back({call.down, hidden, stride, call.out});
}

void VulkanDevice::flush_downs() {
  for (const Down& down : downs_) {
    const size_t bytes = size_t{down.out.count} * down.hidden_stride * sizeof(float);
    multiply({down.weight,
              {},
              {},
              down.hidden,
              {down.hidden, bytes},
              down.hidden_stride,
              {},
              down.out.count,
              range(down.out).begin,
              down.out.stride});
  }
  downs_.clear();
  hidden_used_ = 0;
}

void VulkanDevice::embed(const EmbedCall& call) {
  flush_downs();
  if (call.out.count == 0) return;
  SMOE_CHECK(call.out.count == call.tokens.size() && call.out.width == call.table.cols);
  for (const TokenId token : call.tokens) SMOE_CHECK(index_of(token) < call.table.rows);
  recorder_->make_room(call.tokens.size_bytes());
  const Range reads[] = {range(call.table)};
  const Range out = range(call.out);
  const EmbedPush push{reads[0].begin,  argument(call.tokens),
                       out.begin,       words_of(call.table.tile_stride),
                       call.table.cols, call.out.stride};
  recorder_->dispatch({Kernel::kEmbed,
                       {static_cast<uint32_t>(call.table.format)},
                       bytes_of(push),
                       ceil_div(ceil_div(call.table.cols, 4U), kRowThreads),
                       call.out.count,
                       reads,
                       out});
}

void VulkanDevice::normalize(const NormCall& call) {
  flush_downs();
  if (call.in.count == 0) return;
  SMOE_CHECK(call.in.count == call.out.count && call.in.width == call.out.width);
  SMOE_CHECK(call.group > 0 && call.in.width % call.group == 0 && call.weight.width == call.group);
  const Range reads[] = {range(call.in), range(call.weight)};
  const Range out = range(call.out);
  const NormalizePush push{reads[0].begin,  reads[1].begin, out.begin,   call.in.stride,
                           call.out.stride, call.group,     call.epsilon};
  recorder_->dispatch({Kernel::kNormalize,
                       {},
                       bytes_of(push),
                       call.in.width / call.group,
                       call.in.count,
                       reads,
                       out});
}

void VulkanDevice::rotate(const RotateCall& call) {
  flush_downs();
  if (call.rows.count == 0 || call.dims == 0) return;
  SMOE_CHECK(call.rows.width == call.heads * call.head_dim && call.angles.count == call.rows.count);
  SMOE_CHECK(call.dims % 2 == 0 && call.dims <= call.head_dim && call.angles.width == call.dims);
  const Range rows = range(call.rows);
  const Range reads[] = {rows, range(call.angles)};
  const RotatePush push{rows.begin, reads[1].begin, call.rows.stride, call.angles.stride,
                        call.heads, call.head_dim,  call.dims};
  recorder_->dispatch({Kernel::kRotate,
                       {},
                       bytes_of(push),
                       ceil_div(call.heads * call.dims / 2, kRowThreads),
                       call.rows.count,
                       reads,
                       rows});
}

void VulkanDevice::store_kv(const StoreKvCall& call) {
  flush_downs();
  if (call.key.count == 0) return;
  const KvPages& pages = call.pages;
  SMOE_CHECK(call.key.count == call.places.size() && call.value.count == call.places.size());
  SMOE_CHECK(call.key.width == pages.kv_heads * pages.head_dim &&
             call.value.width == call.key.width);
  for (const TokenPlace& place : call.places)
    SMOE_CHECK(place.page_begin + place.position / kPagePositions < call.page_table.size());
  recorder_->make_room(call.places.size_bytes() + call.page_table.size_bytes());
  const Range reads[] = {range(call.key), range(call.value)};
  // Any page of the layer; the next layer's lie behind them.
  const uint32_t last = *std::max_element(call.page_table.begin(), call.page_table.end());
  const size_t bytes = (size_t{last} + 1) * pages.page_bytes();
  const Range all{address(pages.view, bytes), bytes};
  const StoreKvPush push{reads[0].begin,
                         reads[1].begin,
                         all.begin,
                         argument(call.places),
                         argument(call.page_table),
                         call.key.stride,
                         call.value.stride,
                         pages.kv_heads,
                         pages.head_dim};
  recorder_->dispatch({Kernel::kStoreKv,
                       {},
                       bytes_of(push),
                       ceil_div(call.key.width, kRowThreads),
                       call.key.count,
                       reads,
                       all});
}

void VulkanDevice::attend(const AttendCall& call) {
  flush_downs();
  if (call.query.count == 0) return;
  const KvPages& pages = call.pages;
  SMOE_CHECK(call.query.count == call.places.size() && call.out.count == call.query.count);
  SMOE_CHECK(pages.kv_heads > 0 && call.heads % pages.kv_heads == 0);
  SMOE_CHECK(call.query.width == call.heads * pages.head_dim &&
             call.out.width == call.query.width && pages.head_dim <= kMostHeadDim);
  for (const TokenPlace& place : call.places)
    SMOE_CHECK(place.page_begin + place.position / kPagePositions < call.page_table.size());
  recorder_->make_room(call.places.size_bytes() + call.page_table.size_bytes());
  const uint32_t last = *std::max_element(call.page_table.begin(), call.page_table.end());
  const size_t bytes = (size_t{last} + 1) * pages.page_bytes();
  const Range reads[] = {range(call.query), {address(pages.view, bytes), bytes}};
  const Range out = range(call.out);
  const AttendPush push{reads[0].begin,
                        reads[1].begin,
                        argument(call.places),
                        argument(call.page_table),
                        out.begin,
                        call.query.stride,
                        call.out.stride,
                        call.heads,
                        pages.kv_heads,
                        pages.head_dim,
                        call.scale};
  recorder_->dispatch(
      {Kernel::kAttend, {}, bytes_of(push), call.heads, call.query.count, reads, out});
}

void VulkanDevice::accumulate(const AccumulateCall& call) {
  if (call.from.count == 0) return;
  SMOE_CHECK(call.from.width == call.out.width);
  SMOE_CHECK(call.rows.empty() ? call.from.count <= call.out.count
                               : call.from.count == call.rows.size());
  SMOE_CHECK(call.weights.empty() || call.from.count == call.weights.size());
  for (const uint32_t row : call.rows) SMOE_CHECK(row < call.out.count);
  move_rows(call.from, call.rows, call.weights, call.out, false);
}

void VulkanDevice::gather(const GatherCall& call) {
  SMOE_CHECK(call.out.count == call.rows.size());
  if (call.out.count == 0) return;
  SMOE_CHECK(call.in.width == call.out.width);
  for (const uint32_t row : call.rows) SMOE_CHECK(row < call.in.count);
  move_rows(call.in, call.rows, {}, call.out, true);
}

void VulkanDevice::move_rows(const Rows& from, std::span<const uint32_t> rows,
                             std::span<const float> weights, const Rows& out, bool copies) {
  flush_downs();
  recorder_->make_room(rows.size_bytes() + weights.size_bytes());
  const Range to = range(out);
  const Range reads[] = {range(from), to};
  const AccumulatePush push{reads[0].begin,
                            argument(rows),
                            argument(weights),
                            to.begin,
                            from.stride,
                            out.stride,
                            out.width,
                            rows.empty() ? 0U : 1U,
                            weights.empty() ? 0U : 1U};
  recorder_->dispatch({Kernel::kAccumulate,
                       {copies ? 1U : 0U},
                       bytes_of(push),
                       ceil_div(out.width, kRowThreads),
                       copies ? out.count : from.count,
                       reads,
                       to});
}

void VulkanDevice::zero(const Rows& rows) {
  flush_downs();
  if (rows.count == 0) return;
  const Range whole = range(rows);
  recorder_->fill(allocation(rows.view).memory, rows.view.offset, whole.bytes);
}

}  // namespace smoe::vulkan
