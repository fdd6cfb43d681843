#include "engine/importance.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "base/checksum.h"
#include "base/units.h"

namespace smoe {
namespace {

constexpr uint32_t kStrideFloats = 16;

// Tokens that an expert must have seen for its own mean to outweigh that of all experts.
constexpr double kJoinedRows = 16;

// A layer's inputs in order: attention, its output, a dense block's or the shared expert's two,
// then each expert's two.
enum Input : size_t { kAttentionIn, kAttentionOut, kBlockIn, kBlockOut, kFirstExpert };

size_t inputs_of(const LayerSpec& layer) { return kFirstExpert + 2 * size_t{layer.ffn.experts}; }

uint32_t block_width(const FfnSpec& ffn) {
  return ffn.kind == FfnKind::kDense ? ffn.width : ffn.shared_width;
}

uint32_t width_of(const ModelSpec& spec, const LayerSpec& layer, size_t input) {
  if (input == kAttentionOut) return layer.attention.heads * layer.attention.head_dim;
  if (input == kBlockOut) return block_width(layer.ffn);
  if (input >= kFirstExpert && (input - kFirstExpert) % 2 == 1) return layer.ffn.width;
  return spec.width;
}

uint32_t widest_gate(const ModelSpec& spec) {
  uint32_t widest = 0;
  for (const LayerSpec& layer : spec.layers)
    widest = std::max({widest, layer.ffn.width, layer.ffn.shared_width});
  return widest;
}

uint64_t row_floats(const ModelSpec& spec) {
  return align_up(spec.width, kStrideFloats) + 2 * align_up(widest_gate(spec), kStrideFloats);
}

Role gate_of(Role down) {
  if (down == Role::kDenseDown) return Role::kDenseGate;
  return down == Role::kSharedDown ? Role::kSharedGate : Role::kExpertGate;
}

}  // namespace

Importance::Importance(const ModelSpec& spec) : spec_(spec) {
  size_t count = 1;
  for (const LayerSpec& layer : spec.layers) count += inputs_of(layer);
  columns_.reserve(count);
  begin_.reserve(spec.layers.size());
  for (const LayerSpec& layer : spec.layers) {
    begin_.push_back(columns_.size());
    for (size_t input = 0; input < inputs_of(layer); ++input)
      columns_.push_back({std::vector<double>(width_of(spec, layer, input)), 0, {}});
  }
  columns_.push_back({std::vector<double>(spec.width), 0, {}});
}

uint64_t Importance::bytes_for(const ModelSpec& spec, uint32_t rows) {
  uint64_t columns = spec.width;
  for (const LayerSpec& layer : spec.layers)
    for (size_t input = 0; input < inputs_of(layer); ++input)
      columns += width_of(spec, layer, input);
  // Once more of the rows: they are read to the host.
  return columns * (sizeof(double) + sizeof(float)) + 2 * rows * row_floats(spec) * sizeof(float);
}

Status Importance::attach(Device& device, uint32_t rows) {
  device_ = &device;
  SMOE_TRY(buffer_, device.allocate(rows * row_floats(spec_) * sizeof(float)));
  size_t offset = 0;
  const auto take = [&](uint32_t width) {
    const uint32_t stride = align_up(width, kStrideFloats);
    const Rows taken{{&buffer_, offset}, rows, width, stride};
    offset += size_t{rows} * stride * sizeof(float);
    return taken;
  };
  gathered_ = take(spec_.width);
  gate_ = take(widest_gate(spec_));
  up_ = take(widest_gate(spec_));
  return {};
}

size_t Importance::index_of(Role role, uint32_t layer, uint32_t expert) const {
  switch (role) {
    case Role::kEmbedding:
      return spec_.tied_head ? columns_.size() - 1 : kNone;
    case Role::kHead:
      return columns_.size() - 1;
    case Role::kQuery:
    case Role::kKey:
    case Role::kValue:
      return begin_[layer] + kAttentionIn;
    case Role::kOutput:
      return begin_[layer] + kAttentionOut;
    case Role::kDenseGate:
    case Role::kDenseUp:
    case Role::kSharedGate:
    case Role::kSharedUp:
      return begin_[layer] + kBlockIn;
    case Role::kDenseDown:
    case Role::kSharedDown:
      return begin_[layer] + kBlockOut;
    case Role::kExpertGate:
    case Role::kExpertUp:
      return begin_[layer] + kFirstExpert + 2 * size_t{expert};
    case Role::kExpertDown:
      return begin_[layer] + kFirstExpert + 2 * size_t{expert} + 1;
    default:
      return kNone;  // routers and vectors keep their type
  }
}

void Importance::add(Role role, uint32_t layer, const Rows& in) {
  add_rows(columns_[index_of(role, layer, 0)], in);
}

void Importance::add(const Gated& block, const Rows& in, std::span<const uint32_t> rows) {
  Rows seen = in;
  if (!rows.empty()) {
    seen = gathered_.first(static_cast<uint32_t>(rows.size()));
    device_->gather({in, rows, seen});
  }
  const Rows gate{gate_.view, seen.count, block.gate.rows, gate_.stride};
  const Rows up{up_.view, seen.count, block.up.rows, up_.stride};
  device_->project({block.gate, {}, seen, gate});
  device_->project({block.up, {}, seen, up});
  add_rows(columns_[index_of(gate_of(block.down), block.layer, block.expert)], seen);
  add_gated_rows(columns_[index_of(block.down, block.layer, block.expert)], gate, up);
}

void Importance::add_rows(Columns& columns, const Rows& in) {
  SMOE_CHECK(columns.sums.size() == in.width);
  values_.resize(size_t{in.count} * in.width);
  keep(device_->read(in, values_));
  for (size_t at = 0; at < values_.size(); ++at) {
    const auto value = static_cast<double>(values_[at]);
    columns.sums[at % in.width] += value * value;
  }
  columns.rows += in.count;
}

void Importance::add_gated_rows(Columns& columns, const Rows& gate, const Rows& up) {
  SMOE_CHECK(columns.sums.size() == gate.width && gate.width == up.width);
  values_.resize(size_t{up.count} * up.width);
  gate_values_.resize(values_.size());
  keep(device_->read(gate, gate_values_));
  keep(device_->read(up, values_));
  for (size_t at = 0; at < values_.size(); ++at) {
    const auto x = static_cast<double>(gate_values_[at]);
    const double value = x / (1 + std::exp(-x)) * static_cast<double>(values_[at]);
    columns.sums[at % up.width] += value * value;
  }
  columns.rows += up.count;
}

void Importance::keep(Status status) {
  if (status_ && !status) status_ = std::move(status);
}

Status Importance::finish() {
  { const Buffer given_back = std::move(buffer_); }  // the device may end before the sums
  SMOE_DO(std::move(status_));
  for (const Columns& columns : columns_)
    for (const double sum : columns.sums)
      if (!std::isfinite(sum))
        return Error{Code::kNumeric, "the text makes activations that are not finite"};
  for (uint32_t layer = 0; layer < spec_.layers.size(); ++layer)
    for (const size_t input : {size_t{kFirstExpert}, size_t{kFirstExpert} + 1})
      join_experts(layer, begin_[layer] + input);
  for (Columns& columns : columns_) {
    if (columns.rows > 0)
      for (const double sum : columns.sums)
        columns.means.push_back(static_cast<float>(sum / static_cast<double>(columns.rows)));
    columns.sums = {};
  }
  return {};
}

// Every expert gets some rows of all experts' mean besides its own.
void Importance::join_experts(uint32_t layer, size_t first) {
  const size_t end = first + 2 * size_t{spec_.layers[layer].ffn.experts};
  if (first == end) return;
  std::vector<double> mean(columns_[first].sums.size());
  uint64_t rows = 0;
  for (size_t i = first; i < end; i += 2) {
    for (size_t k = 0; k < mean.size(); ++k) mean[k] += columns_[i].sums[k];
    rows += columns_[i].rows;
  }
  if (rows == 0) return;
  for (size_t i = first; i < end; i += 2) {
    for (size_t k = 0; k < mean.size(); ++k)
      columns_[i].sums[k] += mean[k] / static_cast<double>(rows) * kJoinedRows;
    columns_[i].rows += static_cast<uint64_t>(kJoinedRows);
  }
}

std::span<const float> Importance::of(Role role, uint32_t layer, uint32_t expert) const {
  const size_t index = index_of(role, layer, expert);
  if (index == kNone) return {};
  return columns_[index].means;
}

uint64_t Importance::checksum() const {
  Checksum checksum;
  for (const Columns& columns : columns_) checksum.add(std::as_bytes(std::span(columns.means)));
  return checksum.value();
}

}  // namespace smoe
