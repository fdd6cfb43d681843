#include "engine/step.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/check.h"
#include "base/clock.h"
#include "base/units.h"

namespace smoe {
namespace {

// Without a way out of the loop it is done in vectors: a vocabulary's logits are looked at each
// step.
bool all_finite(std::span<const float> values) {
  constexpr uint32_t kExponent = 0x7f800000;
  uint32_t faults = 0;
  for (const float value : values)
    faults |= static_cast<uint32_t>((std::bit_cast<uint32_t>(value) & kExponent) == kExponent);
  return faults == 0;
}

// Adds the time until it goes out of scope to a counter.
class Timed {
 public:
  explicit Timed(uint64_t& total_ns) : total_ns_(total_ns), begin_ns_(now_ns()) {}
  ~Timed() { total_ns_ += now_ns() - begin_ns_; }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

 private:
  uint64_t& total_ns_;
  uint64_t begin_ns_;
};

// Bets pay for a few tokens; a longer batch sweeps the next layer's experts anyway.
constexpr uint32_t kMostTokensToBetFor = 8;

class Nobody : public StepSink {
 public:
  void logits(uint32_t /*index*/, std::span<const float> /*values*/) override {}
};

}  // namespace

Status Step::run(Batch batch, StepSink& sink) {
  Status status = forward(batch, sink);
  if (status || status.error().code != Code::kNumeric) return status;
  return find_numeric_fault(batch, std::move(status).error());
}

Status Step::forward(Batch batch, StepSink& sink) {
  const Scratch& scratch = *parts_.scratch;
  Device& device = *parts_.device;
  load_batch(batch);
  SMOE_DO(parts_.scout->bring_embedding());
  device.embed({parts_.scout->embedding(), std::span(scratch.tokens).first(tokens_),
                rows(scratch.hidden, parts_.spec->width)});

  const auto layers = static_cast<uint32_t>(parts_.spec->layers.size());
  for (uint32_t layer = 0; layer < layers; ++layer) {
    if (parts_.cancelled->load(std::memory_order_relaxed))
      return Error{Code::kCancelled, "stopped"};
    SMOE_DO(parts_.scout->bring_layer(layer));
    SMOE_DO(show_hidden(layer, rows(scratch.hidden, parts_.spec->width), sink));
    set_angles(parts_.spec->layers[layer].rope, batch);
    bet_on(layer);
    attention(layer);
    SMOE_DO(check_rows(layer, "attention", rows(scratch.hidden, parts_.spec->width)));
    SMOE_DO(feed_forward(layer));
    SMOE_DO(check_rows(layer, "feed-forward", rows(scratch.hidden, parts_.spec->width)));
  }
  return head(batch, sink);
}

// The same step once more, looking at every part's output: slow, but only ever after a failure.
Status Step::find_numeric_fault(Batch batch, Error found) {
  Nobody nobody;
  checked_ = true;
  Status status = forward(batch, nobody);
  checked_ = false;
  if (!status) return status;
  return found;
}

void Step::load_batch(Batch batch) {
  Scratch& scratch = *parts_.scratch;
  SMOE_CHECK(!batch.empty() && batch.size() <= scratch.tokens.size());
  tokens_ = static_cast<uint32_t>(batch.size());
  rope_ = {};
  for (uint32_t i = 0; i < tokens_; ++i) {
    scratch.tokens[i] = batch[i].token;
    scratch.places[i] = parts_.kv->place(batch[i].sequence, batch[i].position);
  }
  ++stats_.steps;
  stats_.tokens += tokens_;
}

// Cosines and sines of every position, in the precision of the reference implementation: frequency
// and angle are rounded to f32, then the functions are exact.
void Step::set_angles(const RopeSpec& rope, Batch batch) {
  if (rope == rope_) return;
  rope_ = rope;
  Scratch& scratch = *parts_.scratch;
  const uint32_t half = rope.dims / 2;
  scratch.inverse_frequencies.resize(half);
  for (uint32_t i = 0; i < half; ++i) {
    const float exponent = static_cast<float>(2 * i) / static_cast<float>(rope.dims);
    scratch.inverse_frequencies[i] =
        1.0F / static_cast<float>(std::pow(rope.theta, static_cast<double>(exponent)));
  }
  const size_t stride = scratch.angles.stride;
  for (uint32_t row = 0; row < tokens_; ++row) {
    float* out = scratch.angle_values.data() + row * stride;
    for (uint32_t i = 0; i < half; ++i) {
      const float angle = static_cast<float>(batch[row].position) * scratch.inverse_frequencies[i];
      out[i] = static_cast<float>(std::cos(static_cast<double>(angle)));
      out[half + i] = static_cast<float>(std::sin(static_cast<double>(angle)));
    }
  }
  parts_.device->write(scratch.angles.view,
                       std::as_bytes(std::span(scratch.angle_values).first(tokens_ * stride)));
}

void Step::attention(uint32_t layer) {
  const Timed timed(stats_.attention_ns);
  const Scratch& scratch = *parts_.scratch;
  const LayerSpec& spec = parts_.spec->layers[layer];
  const AttentionSpec& shape = spec.attention;
  const LayerWeights& weights = parts_.scout->layer(layer);
  Device& device = *parts_.device;

  const Rows hidden = rows(scratch.hidden, parts_.spec->width);
  const Rows normed = rows(scratch.normed, parts_.spec->width);
  const Rows query = rows(scratch.query, shape.heads * shape.head_dim);
  const Rows key = rows(scratch.key, shape.kv_heads * shape.head_dim);
  const Rows value = rows(scratch.value, shape.kv_heads * shape.head_dim);
  const Rows attended = rows(scratch.attended, shape.heads * shape.head_dim);
  const Rows angles = rows(scratch.angles, spec.rope.dims);
  const auto places = std::span(scratch.places).first(tokens_);

  device.normalize(
      {hidden, weights.attention_norm, hidden.width, parts_.spec->norm_epsilon, normed});
  listen(Role::kQuery, layer, normed);
  device.project({weights.query, weights.query_bias, normed, query});
  device.project({weights.key, weights.key_bias, normed, key});
  device.project({weights.value, weights.value_bias, normed, value});
  const bool per_head = shape.qk_norm == QkNorm::kPerHead;
  if (shape.qk_norm != QkNorm::kNone && !per_head) {
    const float epsilon = parts_.spec->norm_epsilon;
    device.normalize({query, weights.query_norm, query.width, epsilon, query});
    device.normalize({key, weights.key_norm, key.width, epsilon, key});
  }
  const KvPages pages = parts_.kv->layer(layer);
  device.prepare_heads({query, key, value, shape.heads, per_head ? weights.query_norm : Vector{},
                        per_head ? weights.key_norm : Vector{}, parts_.spec->norm_epsilon,
                        spec.rope.dims, angles, pages, places, parts_.kv->page_table()});
  device.attend(
      {query, pages, shape.heads, shape.scale, places, parts_.kv->page_table(), attended});
  listen(Role::kOutput, layer, attended);
  device.project({weights.output, weights.output_bias, attended, normed, false, hidden});
}

Status Step::feed_forward(uint32_t layer) {
  const Scratch& scratch = *parts_.scratch;
  const LayerWeights& weights = parts_.scout->layer(layer);
  Device& device = *parts_.device;
  const Rows hidden = rows(scratch.hidden, parts_.spec->width);
  const Rows normed = rows(scratch.normed, parts_.spec->width);
  const Rows out = rows(scratch.ffn_out, parts_.spec->width);

  device.normalize({hidden, weights.ffn_norm, hidden.width, parts_.spec->norm_epsilon, normed});
  if (parts_.spec->layers[layer].ffn.kind == FfnKind::kDense) {
    const Timed timed(stats_.ffn_ns);
    listen({Role::kDenseDown, layer, 0, weights.dense_gate, weights.dense_up}, normed);
    device.run_expert({weights.dense_gate, weights.dense_up, weights.dense_down, normed, {}, out});
    device.accumulate({out, {}, {}, hidden});
    return {};
  }
  return routed(layer);
}

Status Step::route_on_host(uint32_t layer) {
  Scratch& scratch = *parts_.scratch;
  const FfnSpec& ffn = parts_.spec->layers[layer].ffn;
  const auto values = std::span(scratch.router_values).first(size_t{tokens_} * ffn.experts);
  SMOE_DO(parts_.device->read(rows(scratch.router, ffn.experts), values));
  return route(ffn, values, scratch.routing, scratch.router_work);
}

// The device chooses the experts; what it chose is read back.
Status Step::route_on_device(uint32_t layer) {
  Scratch& scratch = *parts_.scratch;
  const FfnSpec& ffn = parts_.spec->layers[layer].ffn;
  const Rows chosen = rows(scratch.routed, 3 * ffn.router.active_experts);
  const auto values = std::span(scratch.routed_values).first(size_t{tokens_} * chosen.width);
  const auto logits = std::span(scratch.router_values)
                          .first(scratch.routing.summarize ? size_t{tokens_} * ffn.experts : 0);
  if (!logits.empty()) SMOE_DO(parts_.device->read(rows(scratch.router, ffn.experts), logits));
  SMOE_DO(parts_.device->read(chosen, values));
  return take_routing(ffn, values, logits, scratch.routing, scratch.router_work);
}

// A layer all of whose records the device has: nothing comes back to the host.
bool Step::run_on_device(uint32_t layer) {
  Scratch& scratch = *parts_.scratch;
  const FfnSpec& ffn = parts_.spec->layers[layer].ffn;
  if (checked_ || parts_.observed || tokens_ > kFewTokens || ffn.shared_gated ||
      !parts_.experts->complete(layer))
    return false;
  const uint32_t width = parts_.spec->width;
  const uint32_t active = ffn.router.active_experts;
  const uint32_t choices = tokens_ * active;
  if (ffn.shared_width > 0) static_cast<void>(shared_expert(layer));  // not gated: cannot fail
  parts_.experts->run_routed(
      {layer,
       active,
       rows(scratch.normed, width),
       rows(scratch.routed, 3 * active),
       ffn.shared_width > 0 ? rows(scratch.shared_out, width) : Rows{},
       {scratch.expert_hidden.view, choices, ffn.width, scratch.expert_hidden.stride},
       {scratch.held.view, choices, width, scratch.held.stride},
       rows(scratch.hidden, width)});
  stats_.expert_rows += choices;
  stats_.unions += choices;
  stats_.expert_bytes += choices * parts_.experts->record_bytes(layer);
  return true;
}

// Routes the batch, starts the reads, computes the shared expert while they fly, then each routed
// expert as it becomes ready; and adds all of it to the residual stream.
Status Step::routed(uint32_t layer) {
  Scratch& scratch = *parts_.scratch;
  const FfnSpec& ffn = parts_.spec->layers[layer].ffn;
  Device& device = *parts_.device;
  const uint32_t width = parts_.spec->width;
  const Rows normed = rows(scratch.normed, width);
  const Rows logits = rows(scratch.router, ffn.experts);
  {
    const Timed timed(stats_.routing_ns);
    device.project({parts_.scout->layer(layer).router, {}, normed, logits, true});
    if (device.routes())
      device.route({logits, ffn.router.active_experts, ffn.router.score == Score::kTopKThenSoftmax,
                    ffn.router.renormalize, ffn.router.scale,
                    rows(scratch.routed, 3 * ffn.router.active_experts)});
    if (run_on_device(layer)) return {};
    if (Status status = device.routes() ? route_on_device(layer) : route_on_host(layer); !status)
      return std::move(status).error().in(fmt::format("layer {}", layer));
    parts_.experts->demand(layer, scratch.routing);
    stats_.expert_rows += scratch.routing.experts.size();
    stats_.unions += scratch.routing.members.size();
    stats_.expert_bytes += scratch.routing.members.size() * parts_.experts->record_bytes(layer);
    bet_on(layer + 1);
  }
  const Timed timed(stats_.ffn_ns);
  const Rows out = rows(scratch.ffn_out, width);
  device.zero(out);
  if (ffn.shared_width > 0) SMOE_DO(shared_expert(layer));
  SMOE_DO(parts_.experts->run({layer, &scratch.routing, normed, out, scratch.expert_out,
                               scratch.held, checked_, parts_.importance}));
  if (ffn.shared_width > 0) {
    const auto gates =
        std::span<const float>(scratch.shared_values).first(ffn.shared_gated ? tokens_ : 0);
    device.accumulate({rows(scratch.shared_out, width), {}, gates, out});
  }
  device.accumulate({out, {}, {}, rows(scratch.hidden, width)});
  return {};
}

// A layer's router, asked about the hidden state as it is before the layer's attention, names most
// of the experts that it will choose (the residual stream changes little); before the experts of
// the layer below it is right less often, but its reads begin earlier. So it is asked twice, and
// the second answer replaces what has not begun.
void Step::bet_on(uint32_t layer) {
  if (!parts_.bets || checked_ || tokens_ > kMostTokensToBetFor) return;
  if (layer >= parts_.spec->layers.size() || !parts_.scout->has_layer(layer)) return;
  if (!parts_.scout->bring_layer(layer)) return;
  const FfnSpec& ffn = parts_.spec->layers[layer].ffn;
  if (ffn.kind != FfnKind::kExperts || parts_.experts->complete(layer)) return;

  Scratch& scratch = *parts_.scratch;
  Device& device = *parts_.device;
  const LayerWeights& weights = parts_.scout->layer(layer);
  const uint32_t width = parts_.spec->width;
  const Rows normed = rows(scratch.expert_out, width);  // free until the layer's experts run
  const Rows logits = rows(scratch.router, ffn.experts);
  const auto values = std::span(scratch.router_values).first(size_t{tokens_} * ffn.experts);
  device.normalize(
      {rows(scratch.hidden, width), weights.ffn_norm, width, parts_.spec->norm_epsilon, normed});
  device.project({weights.router, {}, normed, logits, true});
  if (!device.read(logits, values)) return;  // the layer's own read fails as well, and says why
  // The likelier half: past that, a wrong guess costs more disk time than a right one saves.
  FfnSpec likely = ffn;
  likely.router.active_experts = ceil_div(ffn.router.active_experts, 2U);
  // A guess that is not finite is no fault of this layer; the layer itself will say so.
  if (route(likely, values, scratch.bet_routing, scratch.router_work))
    parts_.experts->bet(layer, scratch.bet_routing);
}

Status Step::shared_expert(uint32_t layer) {
  Scratch& scratch = *parts_.scratch;
  const LayerWeights& weights = parts_.scout->layer(layer);
  const Rows normed = rows(scratch.normed, parts_.spec->width);
  listen({Role::kSharedDown, layer, 0, weights.shared_gate, weights.shared_up}, normed);
  parts_.device->run_expert({weights.shared_gate,
                             weights.shared_up,
                             weights.shared_down,
                             normed,
                             {},
                             rows(scratch.shared_out, parts_.spec->width)});
  if (!parts_.spec->layers[layer].ffn.shared_gated) return {};
  const Rows gate = rows(scratch.shared_gate, 1);
  const auto values = std::span(scratch.shared_values).first(tokens_);
  parts_.device->project({weights.shared_router, {}, normed, gate});
  SMOE_DO(parts_.device->read(gate, values));
  for (float& value : values) value = 1.0F / (1.0F + std::exp(-value));
  return {};
}

Status Step::head(Batch batch, StepSink& sink) {
  const Timed timed(stats_.head_ns);
  Scratch& scratch = *parts_.scratch;
  const ModelSpec& spec = *parts_.spec;
  Device& device = *parts_.device;
  SMOE_DO(parts_.scout->bring_all());
  if (sink.wants_hidden()) {
    const Rows normed = rows(scratch.normed, spec.width);
    device.normalize({rows(scratch.hidden, spec.width), parts_.scout->final_norm(), spec.width,
                      spec.norm_epsilon, normed});
    SMOE_DO(show_hidden(static_cast<uint32_t>(spec.layers.size()), normed, sink));
  }
  scratch.head_rows.clear();
  for (uint32_t i = 0; i < tokens_; ++i)
    if (batch[i].wants_logits) scratch.head_rows.push_back(i);

  for (size_t done = 0; done < scratch.head_rows.size(); done += kHeadRows) {
    const auto wanted =
        std::span<const uint32_t>(scratch.head_rows)
            .subspan(done, std::min<size_t>(kHeadRows, scratch.head_rows.size() - done));
    const auto count = static_cast<uint32_t>(wanted.size());
    const Rows in = scratch.head_in.first(count);
    const Rows out = scratch.head_out.first(count);
    device.gather({rows(scratch.hidden, spec.width), wanted, in});
    device.normalize({in, parts_.scout->final_norm(), spec.width, spec.norm_epsilon, in});
    listen(Role::kHead, 0, in);
    device.project({parts_.scout->head(), {}, in, out});
    const auto values = std::span(scratch.logit_values).first(size_t{count} * spec.vocabulary);
    SMOE_DO(device.read(out, values));
    if (!all_finite(values))
      return Error{Code::kNumeric, "the logits are not finite, though every layer's output was"};
    for (uint32_t i = 0; i < count; ++i)
      sink.logits(wanted[i], values.subspan(size_t{i} * spec.vocabulary, spec.vocabulary));
  }
  return {};
}

void Step::listen(Role role, uint32_t layer, const Rows& in) {
  if (parts_.importance != nullptr) parts_.importance->add(role, layer, in);
}

void Step::listen(const Importance::Gated& block, const Rows& in) {
  if (parts_.importance != nullptr) parts_.importance->add(block, in, {});
}

Status Step::show_hidden(uint32_t layer, const Rows& shown, StepSink& sink) {
  if (!sink.wants_hidden()) return {};
  wide_values_.resize(size_t{shown.count} * shown.width);
  SMOE_DO(parts_.device->read(shown, wide_values_));
  sink.hidden(layer, wide_values_);
  return {};
}

Status Step::check_rows(uint32_t layer, const char* part, const Rows& checked) {
  if (!checked_) return {};
  wide_values_.resize(size_t{checked.count} * checked.width);
  SMOE_DO(parts_.device->read(checked, wide_values_));
  if (all_finite(wide_values_)) return {};
  return Error{Code::kNumeric,
               fmt::format("layer {}: the output of {} is not finite", layer, part)};
}

}  // namespace smoe
