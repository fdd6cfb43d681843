#include "engine/scratch.h"

#include <algorithm>

#include "base/units.h"

namespace smoe {
namespace {

constexpr uint32_t kStrideFloats = 16;  // a full vector, and the alignment of a row

// The widest of each kind over all layers.
struct Widths {
  uint32_t query = 0;
  uint32_t key = 0;
  uint32_t angles = 0;
  uint32_t experts = 0;
  uint32_t active = 0;
  uint32_t ffn = 0;
  uint32_t expert = 0;  // of the routed ones
  bool shared = false;
};

Widths widths_of(const ModelSpec& spec) {
  Widths widths;
  for (const LayerSpec& layer : spec.layers) {
    const AttentionSpec& attention = layer.attention;
    widths.query = std::max(widths.query, attention.heads * attention.head_dim);
    widths.key = std::max(widths.key, attention.kv_heads * attention.head_dim);
    widths.angles = std::max(widths.angles, layer.rope.dims);
    widths.experts = std::max(widths.experts, layer.ffn.experts);
    widths.active = std::max(widths.active, layer.ffn.router.active_experts);
    widths.ffn = std::max({widths.ffn, layer.ffn.width, layer.ffn.shared_width});
    if (layer.ffn.experts > 0) widths.expert = std::max(widths.expert, layer.ffn.width);
    widths.shared = widths.shared || layer.ffn.shared_width > 0;
  }
  return widths;
}

// Outputs held back: at least one expert's of a whole chunk, and for a few tokens all of theirs.
uint32_t held_rows(const Widths& widths, uint32_t rows) {
  return std::max(rows, widths.active * std::min(rows, kFewTokens));
}

// Gives out rows one after the other; with a null buffer it only counts.
class Carver {
 public:
  explicit Carver(const Buffer* buffer) : buffer_(buffer) {}

  Rows take(uint32_t count, uint32_t width) {
    const uint32_t stride = align_up(width, kStrideFloats);
    const Rows rows{{buffer_, offset_}, count, width, stride};
    offset_ += align_up(size_t{count} * stride * sizeof(float), size_t{256});
    return rows;
  }
  size_t bytes() const { return offset_; }

 private:
  const Buffer* buffer_;
  size_t offset_ = 0;
};

size_t carve(const ModelSpec& spec, uint32_t rows, const Buffer* buffer, Scratch& scratch) {
  const Widths widths = widths_of(spec);
  Carver carver(buffer);
  scratch.hidden = carver.take(rows, spec.width);
  scratch.normed = carver.take(rows, spec.width);
  scratch.query = carver.take(rows, widths.query);
  scratch.key = carver.take(rows, widths.key);
  scratch.value = carver.take(rows, widths.key);
  scratch.attended = carver.take(rows, widths.query);
  scratch.angles = carver.take(rows, widths.angles);
  scratch.router = carver.take(rows, widths.experts);
  scratch.routed = carver.take(rows, 3 * widths.active);
  scratch.expert_hidden = carver.take(widths.active * std::min(rows, kFewTokens), widths.expert);
  scratch.ffn_out = carver.take(rows, spec.width);
  scratch.expert_out = carver.take(rows, spec.width);
  scratch.held = carver.take(held_rows(widths, rows), spec.width);
  if (widths.shared) {
    scratch.shared_gate = carver.take(rows, 1);
    scratch.shared_out = carver.take(rows, spec.width);
  }
  scratch.head_in = carver.take(kHeadRows, spec.width);
  scratch.head_out = carver.take(kHeadRows, spec.vocabulary);
  return carver.bytes();
}

uint64_t host_bytes(const ModelSpec& spec, uint32_t rows) {
  const Widths widths = widths_of(spec);
  const uint64_t choices = uint64_t{rows} * widths.active;
  return 2 * choices * (sizeof(uint16_t) + sizeof(uint32_t) + 2 * sizeof(float)) +
         uint64_t{rows} * (widths.experts + 3 * widths.active + widths.angles + 1) * sizeof(float) +
         uint64_t{rows} * (sizeof(TokenId) + sizeof(TokenPlace) + sizeof(uint32_t)) +
         uint64_t{kHeadRows} * spec.vocabulary * sizeof(float);
}

}  // namespace

uint64_t Scratch::bytes_for(const ModelSpec& spec, uint32_t rows) {
  Scratch counted;
  return carve(spec, rows, nullptr, counted) + host_bytes(spec, rows);
}

Device::Limits Scratch::limits_for(const ModelSpec& spec, uint32_t rows, uint32_t context) {
  const Widths widths = widths_of(spec);
  Device::Limits limits;
  limits.rows = std::max(rows, kHeadRows);
  // The head's output is wide, but no operation needs scratch for it.
  limits.widest = std::max({spec.width, widths.query, widths.ffn, widths.experts});
  limits.context = context;
  return limits;
}

Status Scratch::allocate(const ModelSpec& spec, uint32_t rows, Device& device, Scratch& scratch) {
  Scratch counted;
  SMOE_TRY(scratch.buffer, device.allocate(carve(spec, rows, nullptr, counted)));
  carve(spec, rows, &scratch.buffer, scratch);

  const Widths widths = widths_of(spec);
  scratch.tokens.resize(rows);
  scratch.places.resize(rows);
  scratch.angle_values.resize(size_t{rows} * scratch.angles.stride);
  scratch.router_values.resize(size_t{rows} * widths.experts);
  scratch.routed_values.resize(size_t{rows} * 3 * widths.active);
  scratch.shared_values.resize(widths.shared ? rows : 0);
  scratch.logit_values.resize(size_t{kHeadRows} * spec.vocabulary);
  scratch.inverse_frequencies.reserve(widths.angles / 2);
  scratch.head_rows.reserve(rows);
  scratch.routing.reserve(rows, widths.active, widths.experts);
  scratch.bet_routing.reserve(rows, widths.active, widths.experts);
  scratch.router_work.order.reserve(widths.experts);
  scratch.router_work.counts.reserve(widths.experts);
  return {};
}

}  // namespace smoe
