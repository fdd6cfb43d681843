#include "server/live_event.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/json.h"
#include "server/live.h"

namespace smoe::server {
namespace {

// Row of each layer in the map; layers without experts have none.
std::vector<uint32_t> expert_rows(const ModelSpec& spec) {
  std::vector<uint32_t> rows;
  uint32_t next = 0;
  for (const LayerSpec& layer : spec.layers) rows.push_back(layer.ffn.experts > 0 ? next++ : 0);
  return rows;
}

uint32_t most_experts(const ModelSpec& spec) {
  uint32_t most = 0;
  for (const LayerSpec& layer : spec.layers) most = std::max(most, layer.ffn.experts);
  return most;
}

// The bytes of the map: 0 absent, 1 loading, 2 resident, 3 used since the last event, 4 bet.
uint8_t map_state(RecordState state, bool used) {
  if (state == RecordState::kLoading) return 1;
  if (used) return 3;
  return state == RecordState::kFresh ? 4 : 2;
}

double part_of(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

// Where the time between two samples went; the rest of it nothing was computed.
void write_time_share(JsonWriter& json, const StepStats& now, const StepStats& before,
                      uint64_t waited_ns, uint64_t elapsed_ns) {
  const uint64_t attention = now.attention_ns - before.attention_ns;
  const uint64_t experts = now.ffn_ns - before.ffn_ns;
  const uint64_t head = now.head_ns - before.head_ns;
  const uint64_t other = now.routing_ns - before.routing_ns;
  const uint64_t waiting = std::min(waited_ns, experts);
  // A sample may end in the middle of a step, whose times come with the next.
  const uint64_t whole = std::max(elapsed_ns, attention + experts + head + other);
  json.key("time_share").begin_object();
  json.member("attention", part_of(attention, whole));
  json.member("experts", part_of(experts - waiting, whole));
  json.member("waiting", part_of(waiting, whole));
  json.member("head", part_of(head, whole));
  json.member("other", part_of(other, whole)).end_object();
}

void write_memory(JsonWriter& json, const MemoryPlan& plan) {
  json.key("memory").begin_object();
  json.member("budget_bytes", plan.budget_bytes).member("scout_bytes", plan.scout_bytes);
  json.member("ring_bytes", plan.ring_bytes).member("kv_bytes", plan.kv_bytes).end_object();
}

void write_context(JsonWriter& json, const SchedulerSnapshot& snapshot, uint32_t size) {
  uint64_t used = 0;
  uint64_t processing = 0;
  for (const SlotSnapshot& slot : snapshot.slots) {
    used = std::max<uint64_t>(used, slot.computed_tokens);
    if (slot.state != SlotSnapshot::State::kIdle) ++processing;
  }
  json.key("context").begin_object();
  json.member("used", used).member("size", size).end_object();
  json.key("requests").begin_object();
  json.member("processing", processing).member("deferred", uint64_t{snapshot.queued});
  json.end_object();
}

// What the time since the last event was mostly spent on.
std::string_view limit_of(uint64_t waited_ns, uint64_t computed_ns, const StreamStats& stream) {
  if (computed_ns == 0) return "none";
  if (waited_ns * 2 < computed_ns) return "compute";
  return stream.reads > 0 ? "disk" : "memory";
}

}  // namespace

std::string LiveEvents::next(const ModelLease& model) {
  if (model == nullptr) {
    forget();
    return "event: live\ndata: {\"model\":null}\n\n";
  }
  const Engine& engine = model->engine();
  const ModelSpec& spec = engine.spec();
  const SchedulerSnapshot snapshot = model->scheduler().snapshot();
  const bool first = last_.model != model->id();
  if (first) {
    last_ = {model->id(), now_ns(), snapshot.stream, snapshot.steps};
    lends_.clear();
  }
  const uint32_t experts = most_experts(spec);
  const std::vector<uint32_t> rows = expert_rows(spec);
  states_.assign(size_t{spec.expert_layers()} * experts, 0);
  lends_.resize(states_.size());
  engine.look([&](const RecordSight& sight) {
    const size_t place = rows[static_cast<size_t>(sight.key.layer)] * size_t{experts} +
                         static_cast<size_t>(sight.key.expert);
    const bool used = sight.lends != std::exchange(lends_[place], sight.lends) && !first;
    states_[place] = map_state(sight.state, used);
  });

  const uint64_t now = now_ns();
  const uint64_t elapsed = now - last_.at_ns;
  const StreamStats& stream = snapshot.stream;
  const auto rate = [&](uint64_t after, uint64_t before) {
    return elapsed == 0 ? 0
                        : static_cast<double>(after - before) * 1e9 / static_cast<double>(elapsed);
  };
  const uint64_t waited = stream.wait_ns - last_.stream.wait_ns;
  JsonWriter json;
  json.begin_object().member("model", std::string_view(model->id()));
  json.member("layers", spec.expert_layers()).member("experts", experts);
  json.member("states", std::string_view(base64(states_)));
  json.member("read_bytes_per_s", rate(stream.bytes_read, last_.stream.bytes_read));
  json.member("hits", stream.hits - last_.stream.hits);
  json.member("misses",
              (stream.demands - stream.hits) - (last_.stream.demands - last_.stream.hits));
  json.member("tokens_per_s", rate(snapshot.steps.tokens, last_.steps.tokens));
  write_time_share(json, snapshot.steps, last_.steps, waited, elapsed);
  write_memory(json, engine.plan());
  write_context(json, snapshot, engine.context());
  json.member("limited_by", limit_of(waited, snapshot.steps.ffn_ns - last_.steps.ffn_ns, stream));
  json.end_object();
  last_ = {model->id(), now, stream, snapshot.steps};
  return fmt::format("event: live\ndata: {}\n\n", json.text());
}

}  // namespace smoe::server
