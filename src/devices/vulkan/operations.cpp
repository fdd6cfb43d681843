// The operations of the device as kernels: checks of the shapes, push constants, sizes of
// dispatches.
#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>

#include "base/check.h"
#include "base/units.h"
#include "devices/vulkan/kernel_shapes.h"
#include "devices/vulkan/vulkan_device.h"

namespace smoe::vulkan {
namespace {

constexpr uint32_t kRowThreads = 64;  // threads of a workgroup in the kernels that go by rows
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
  static constexpr uint32_t kAddresses = 9;
  VkDeviceAddress weights, up, bias, in, chosen, out, onto, norm, normed;
  uint32_t tile_words, up_tile_words, outputs, columns, in_stride, out_stride, tokens;
  uint32_t chain_groups, chain_pieces, chain_slots, out_kinds_stride, flags;
  float epsilon;
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
  uint32_t query_stride, out_stride, heads, kv_heads;
  float scale;
};
struct AccumulatePush {
  static constexpr uint32_t kAddresses = 4;
  VkDeviceAddress from, chosen, weights, out;
  uint32_t from_stride, out_stride, width, has_chosen, has_weights;
};

// Bits of ProductPush::flags.
constexpr uint32_t kHasBias = 1;
constexpr uint32_t kHasChosen = 2;
constexpr uint32_t kHasOnto = 4;
constexpr uint32_t kWritesNormed = 8;

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
  Rows onto;
  const NormCall* norm = nullptr;  // of `in`, on the way
  bool writes_normed = false;
};

// Passes of eight tokens while there are so many, then smaller ones: a row's bits do not depend on
// who shares its pass.
void VulkanDevice::multiply(const Product& product) {
  uint32_t done = 0;
  const ProductShape shape = shape_of(product.weight.rows, product.weight.cols, most_threads_);
  for (const uint32_t pass : kPasses) {
    // It gains nothing in software, and where many threads share the registers.
    if (pass == kPasses[0] && (context_->software() || shape.threads == kWideThreads)) continue;
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
  const ProductShape shape = shape_of(weight.rows, weight.cols, most_threads_);
  const bool gated = static_cast<bool>(product.up);

  recorder_->make_room(product.chosen.size_bytes());
  const size_t in_row_bytes = size_t{product.in_stride} * sizeof(float);
  const bool by_index = !product.chosen.empty();
  ProductPush push{};
  // Weights too: they arrive while the model computes, and a record of the ring is replaced by
  // another one some time.
  const Range reads[] = {product.in_range, range(weight), gated ? range(product.up) : Range{},
                         product.bias ? range(product.bias) : Range{},
                         product.norm != nullptr ? range(product.norm->weight) : Range{}};
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
  push.chain_groups = shape.chain_groups;
  push.chain_pieces = shape.chain_pieces;
  push.chain_slots = shape.chain_slots;
  push.flags = (product.bias ? kHasBias : 0) | (by_index ? kHasChosen : 0);

  const size_t out_bytes = (size_t{count - 1} * product.out_stride + weight.rows) * sizeof(float);
  Range writes{push.out, out_bytes};
  if (product.onto.count > 0) {
    writes = range(product.onto.slice(first, count));
    push.out = 0;
    push.onto = writes.begin;
    push.out_kinds_stride = product.onto.stride;
    push.flags |= kHasOnto;
  }
  Range normed;
  if (product.norm != nullptr) {
    push.norm = reads[4].begin;
    push.epsilon = product.norm->epsilon;
  }
  if (product.writes_normed) {
    normed = range(product.norm->out.slice(first, count));
    push.normed = normed.begin;
    push.out_kinds_stride = product.norm->out.stride;
    push.flags |= kWritesNormed;
  }
  const auto format = static_cast<uint32_t>(weight.format);
  recorder_->dispatch({context_->software() ? Kernel::kProductLooped : Kernel::kProduct,
                       {format, gated ? static_cast<uint32_t>(product.up.format) : format, tokens,
                        gated, shape.ragged, product.norm != nullptr ? 1U : 0U, 0, 0,
                        compiled_pieces(shape), shape.threads},
                       push_of(push),
                       shape.groups,
                       ceil_div(count, tokens),
                       reads,
                       writes,
                       normed});
}

void VulkanDevice::project(const ProjectCall& call) {
  const bool norms = norm_ && does_norm(call);
  if (!norms) catch_up();
  if (call.in.count == 0) return;
  SMOE_CHECK(call.in.count == call.out.count && call.in.width == call.weight.cols &&
             call.out.width == call.weight.rows);
  SMOE_CHECK(!call.bias || call.bias.width == call.weight.rows);
  SMOE_CHECK(call.onto.count == 0 ||
             (call.onto.count == call.in.count && call.onto.width == call.out.width));
  const Rows& from = norms ? norm_->call.in : call.in;
  const Range in = range(from);
  Product product{call.weight,
                  {},
                  call.bias,
                  in.begin,
                  in,
                  from.stride,
                  {},
                  call.in.count,
                  range(call.out).begin,
                  call.out.stride,
                  call.onto};
  if (norms) {
    product.norm = &norm_->call;
    product.writes_normed = !std::exchange(norm_->done, true);
  }
  multiply(product);
}

// Whether the projection is one of what the last norm leaves, so that it can norm its input itself.
bool VulkanDevice::does_norm(const ProjectCall& call) const {
  const Rows& normed = norm_->call.out;
  return call.in.view.buffer == normed.view.buffer && call.in.view.offset == normed.view.offset &&
         call.in.count == normed.count && call.in.width == normed.width &&
         call.in.stride == normed.stride && call.onto.count == 0;
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

  catch_up_but_downs();
  const uint32_t stride = align_up(call.gate.rows, kTileRows);
  const size_t floats = size_t{tokens} * stride;
  SMOE_CHECK(floats <= hidden_floats_);
  if (hidden_used_ + floats > hidden_floats_ || downs_.size() == downs_.capacity()) flush_downs();
  const VkDeviceAddress hidden = hidden_.address() + hidden_used_ * sizeof(float);
  hidden_used_ += floats;

  const Range in = range(call.in);
  static_cast<void>(range(call.down));
  multiply({call.gate,
            call.up,
            {},
            in.begin,
            in,
            call.in.stride,
            call.rows,
            tokens,
            hidden,
            stride,
            {}});
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
              down.out.stride,
              {}});
  }
  downs_.clear();
  hidden_used_ = 0;
}

void VulkanDevice::catch_up_but_downs() {
  if (norm_) {
    const PendingNorm norm = *std::exchange(norm_, std::nullopt);
    if (!norm.done) normalize_now(norm.call);
  }
  if (route_) route_now(*std::exchange(route_, std::nullopt));
}

void VulkanDevice::catch_up() {
  flush_downs();
  catch_up_but_downs();
}

void VulkanDevice::embed(const EmbedCall& call) {
  catch_up();
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
                       push_of(push),
                       ceil_div(ceil_div(call.table.cols, 4U), kRowThreads),
                       call.out.count,
                       reads,
                       out});
}

// Waits for the operation after it: projections of a few rows norm what they read themselves, and
// the first of them writes it down, so a stage is saved.
void VulkanDevice::normalize(const NormCall& call) {
  catch_up();
  if (call.in.count == 0) return;
  SMOE_CHECK(call.in.count == call.out.count && call.in.width == call.out.width);
  SMOE_CHECK(call.group > 0 && call.in.width % call.group == 0 && call.weight.width == call.group);
  const bool in_place =
      call.in.view.buffer == call.out.view.buffer && overlaps(range(call.in), range(call.out));
  if (call.group == call.in.width && call.in.count <= kPasses[0] && call.in.width % 4 == 0 &&
      call.weight.view.offset % 16 == 0 && !in_place) {
    norm_ = PendingNorm{call, false};
  } else {
    normalize_now(call);
  }
}

void VulkanDevice::normalize_now(const NormCall& call) {
  const Range reads[] = {range(call.in), range(call.weight)};
  const Range out = range(call.out);
  const NormalizePush push{reads[0].begin,  reads[1].begin, out.begin,   call.in.stride,
                           call.out.stride, call.group,     call.epsilon};
  recorder_->dispatch({Kernel::kNormalize,
                       {},
                       push_of(push),
                       call.in.width / call.group,
                       call.in.count,
                       reads,
                       out});
}

void VulkanDevice::rotate(const RotateCall& call) {
  catch_up();
  if (call.rows.count == 0 || call.dims == 0) return;
  SMOE_CHECK(call.rows.width == call.heads * call.head_dim && call.angles.count == call.rows.count);
  SMOE_CHECK(call.dims % 2 == 0 && call.dims <= call.head_dim && call.angles.width == call.dims);
  const Range rows = range(call.rows);
  const Range reads[] = {rows, range(call.angles)};
  const RotatePush push{rows.begin, reads[1].begin, call.rows.stride, call.angles.stride,
                        call.heads, call.head_dim,  call.dims};
  recorder_->dispatch({Kernel::kRotate,
                       {},
                       push_of(push),
                       ceil_div(call.heads * call.dims / 2, kRowThreads),
                       call.rows.count,
                       reads,
                       rows});
}

// Any page of the layer; the next layer's lie behind them.
Range VulkanDevice::pages_range(const KvPages& pages, std::span<const uint32_t> page_table) {
  const uint32_t last = *std::max_element(page_table.begin(), page_table.end());
  return range(pages.view, (size_t{last} + 1) * pages.page_bytes());
}

void VulkanDevice::store_kv(const StoreKvCall& call) {
  catch_up();
  if (call.key.count == 0) return;
  const KvPages& pages = call.pages;
  SMOE_CHECK(call.key.count == call.places.size() && call.value.count == call.places.size());
  SMOE_CHECK(call.key.width == pages.kv_heads * pages.head_dim &&
             call.value.width == call.key.width);
  for (const TokenPlace& place : call.places)
    SMOE_CHECK(place.page_begin + place.position / kPagePositions < call.page_table.size());
  recorder_->make_room(call.places.size_bytes() + call.page_table.size_bytes());
  const Range reads[] = {range(call.key), range(call.value)};
  const Range all = pages_range(pages, call.page_table);
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
                       push_of(push),
                       ceil_div(call.key.width, kRowThreads),
                       call.key.count,
                       reads,
                       all});
}

void VulkanDevice::attend(const AttendCall& call) {
  catch_up();
  if (call.query.count == 0) return;
  const KvPages& pages = call.pages;
  SMOE_CHECK(call.query.count == call.places.size() && call.out.count == call.query.count);
  SMOE_CHECK(pages.kv_heads > 0 && call.heads % pages.kv_heads == 0);
  SMOE_CHECK(call.query.width == call.heads * pages.head_dim &&
             call.out.width == call.query.width && pages.head_dim <= kMostHeadDim);
  for (const TokenPlace& place : call.places)
    SMOE_CHECK(place.page_begin + place.position / kPagePositions < call.page_table.size());
  recorder_->make_room(call.places.size_bytes() + call.page_table.size_bytes());
  const Range reads[] = {range(call.query), pages_range(pages, call.page_table)};
  const Range out = range(call.out);
  const AttendPush push{
      reads[0].begin, reads[1].begin,    argument(call.places), argument(call.page_table),
      out.begin,      call.query.stride, call.out.stride,       call.heads,
      pages.kv_heads, call.scale};
  recorder_->dispatch(
      {Kernel::kAttend, {pages.head_dim}, push_of(push), call.heads, call.query.count, reads, out});
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
  catch_up();
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
                       push_of(push),
                       ceil_div(out.width, kRowThreads),
                       copies ? out.count : from.count,
                       reads,
                       to});
}

void VulkanDevice::zero(const Rows& rows) {
  catch_up();
  if (rows.count == 0) return;
  const Range whole = range(rows);
  recorder_->fill(allocation(rows.view).memory, rows.view.offset, whole.bytes);
}

}  // namespace smoe::vulkan
