// smoe inspect: what a model is, and what fits in which memory.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/summary.h"
#include "cli/table.h"

namespace smoe::cli {
namespace {

// "30.53 B": weights, in the thousands that people count them in.
std::string format_count(uint64_t count) {
  if (count < 10'000) return std::to_string(count);
  const auto value = static_cast<double>(count);
  if (count < 1'000'000) return fmt::format("{:.1f} K", value / 1e3);
  if (count < 1'000'000'000) return fmt::format("{:.1f} M", value / 1e6);
  return fmt::format("{:.2f} B", value / 1e9);
}

std::string attention_text(const AttentionSpec& attention) {
  std::string text = fmt::format("{} heads of {}, {} for keys and values", attention.heads,
                                 attention.head_dim, attention.kv_heads);
  if (attention.qk_norm == QkNorm::kPerHead) text += ", queries and keys normalized per head";
  if (attention.qk_norm == QkNorm::kFullWidth) text += ", queries and keys normalized";
  if (attention.qkv_bias) text += ", biases";
  return text;
}

std::string experts_text(const FfnSpec& ffn) {
  std::string text = fmt::format("{} a layer, {} wide; {} used by a token, ", ffn.experts,
                                 ffn.width, ffn.router.active_experts);
  text += ffn.router.score == Score::kSoftmaxThenTopK ? "softmax over all" : "softmax over those";
  if (ffn.router.renormalize) text += ", renormalized";
  if (ffn.router.scale != 1) text += fmt::format(", times {}", ffn.router.scale);
  return text;
}

void append_line(std::string& out, std::string_view name, std::string_view text) {
  out += fmt::format("  {:<14}{}\n", name, text);
}

std::string architecture_text(const ModelSpec& spec) {
  const auto with_experts =
      std::find_if(spec.layers.begin(), spec.layers.end(),
                   [](const LayerSpec& layer) { return layer.ffn.kind == FfnKind::kExperts; });
  const LayerSpec& first = with_experts == spec.layers.end() ? spec.layers.front() : *with_experts;

  std::string out = "Architecture\n";
  append_line(out, "family", spec.family);
  append_line(out, "parameters",
              fmt::format("{}, of which a token uses {}", format_count(spec.parameters()),
                          format_count(spec.active_parameters())));
  append_line(out, "layers",
              fmt::format("{}, {} with experts", spec.layers.size(), spec.expert_layers()));
  append_line(out, "width", fmt::format("{}", spec.width));
  append_line(out, "attention", attention_text(first.attention));
  append_line(out, "positions",
              fmt::format("{} tokens, rotary with base {} over {} of {}", spec.context,
                          first.rope.theta, first.rope.dims, first.attention.head_dim));
  if (first.ffn.kind == FfnKind::kExperts) append_line(out, "experts", experts_text(first.ffn));
  if (first.ffn.shared_width > 0)
    append_line(
        out, "shared expert",
        fmt::format("{} wide{}", first.ffn.shared_width, first.ffn.shared_gated ? ", gated" : ""));
  append_line(out, "vocabulary",
              fmt::format("{} tokens, {}", spec.vocabulary,
                          spec.tied_head ? "the head is the embedding" : "a head of its own"));
  return out;
}

std::string tensors_text(const Summary& summary) {
  std::vector<std::vector<std::string>> rows;
  for (const TensorGroup& group : summary.tensors)
    rows.push_back({group.name, group.format, fmt::format("{} x {}", group.rows, group.cols),
                    std::to_string(group.count), format_bytes(group.bytes)});
  return "Tensors\n" +
         render_table({{"name"}, {"format"}, {"shape", true}, {"count", true}, {"size", true}},
                      rows);
}

std::string sizes_text(const Summary& summary) {
  std::string out = "Sizes\n";
  append_line(out, "scout", format_bytes(summary.scout_bytes) + ", always in memory");
  append_line(out, "vault", format_bytes(summary.vault_bytes) + ", on the disk");
  for (const RecordSize& size : summary.records)
    append_line(out, "expert",
                fmt::format("{} each, {} of them", format_bytes(size.record_bytes), size.records));
  return out;
}

std::string gain_text(const AsItIs& as_it_is) {
  std::string out = "Shattering would gain\n";
  append_line(out, "reads",
              fmt::format("1 of {} for an expert, instead of {} of {} altogether",
                          format_bytes(as_it_is.record_bytes), as_it_is.reads,
                          format_bytes(as_it_is.read_bytes)));
  append_line(out, "processor", "records are computed on as they are read, nothing is re-tiled");
  append_line(out, "checksums", "of every record and tensor; a GGUF file has none");
  return out + "\n";
}

double resident_share(const MemoryPlan& plan) {
  if (plan.records == 0) return 1;
  return static_cast<double>(std::min(plan.ring_slots(), plan.records)) /
         static_cast<double>(plan.records);
}

std::string memory_text(const Summary& summary) {
  std::vector<std::vector<std::string>> rows;
  uint32_t context = 0;
  for (const MemoryRow& row : summary.memory) {
    if (!row.plan) return "Memory\n  " + row.refusal + "\n";
    const MemoryPlan& plan = *row.plan;
    context = plan.context;
    rows.push_back({format_bytes(row.budget_bytes), format_bytes(plan.scout_bytes),
                    format_bytes(plan.kv_bytes), format_bytes(plan.scratch_bytes),
                    format_bytes(plan.ring_bytes), std::to_string(plan.ring_slots()),
                    fmt::format("{:.0f} %", 100 * resident_share(plan))});
  }
  if (rows.empty()) return "Memory\n  no size up to 64 TiB holds this context\n";
  return fmt::format("Memory, for a context of {} tokens\n", context) +
         render_table({{"memory", true},
                       {"scout", true},
                       {"KV cache", true},
                       {"scratch", true},
                       {"ring", true},
                       {"slots", true},
                       {"experts resident", true}},
                      rows);
}

std::string text_report(const Settings& settings, const Summary& summary) {
  std::string_view is = "checkpoint; sizes are those that smoe shatter --quant exact would write";
  if (summary.as_it_is) is = "GGUF file, which runs as it is; sizes are those in memory";
  const std::string made_from = "model folder, made from " + summary.source;
  if (summary.is_model) is = made_from;
  std::string out = fmt::format("{}: {}\n\n", settings.model, is);
  out += architecture_text(summary.spec) + "\n" + tensors_text(summary) + "\n" +
         sizes_text(summary) + "\n";
  if (summary.as_it_is) out += gain_text(*summary.as_it_is);
  out += memory_text(summary);
  for (const std::string& note : summary.notes) out += fmt::format("note: {}\n", note);
  return out;
}

void write_tensors(JsonWriter& json, const Summary& summary) {
  json.key("tensors").begin_array();
  for (const TensorGroup& group : summary.tensors) {
    json.begin_object().member("name", group.name).member("format", group.format);
    json.member("rows", group.rows).member("cols", group.cols).member("count", group.count);
    json.member("bytes", group.bytes).end_object();
  }
  json.end_array();
}

void write_memory(JsonWriter& json, const Summary& summary) {
  json.key("memory").begin_array();
  for (const MemoryRow& row : summary.memory) {
    json.begin_object().member("budget_bytes", row.budget_bytes);
    json.member("fits", row.plan.has_value());
    if (row.plan) {
      const MemoryPlan& plan = *row.plan;
      json.member("context_tokens", plan.context).member("scout_bytes", plan.scout_bytes);
      json.member("kv_bytes", plan.kv_bytes).member("scratch_bytes", plan.scratch_bytes);
      json.member("ring_bytes", plan.ring_bytes).member("ring_slots", plan.ring_slots());
      json.member("records", plan.records).member("resident_share", resident_share(plan));
    } else {
      json.member("refusal", row.refusal);
    }
    json.end_object();
  }
  json.end_array();
}

std::string json_report(const Summary& summary) {
  JsonWriter json;
  json.begin_object().member("kind", summary.is_model ? "model" : "checkpoint");
  if (summary.is_model) json.member("source", summary.source);
  json.key("spec").raw(summary.spec.to_json());
  json.member("parameters", summary.spec.parameters());
  json.member("active_parameters", summary.spec.active_parameters());
  json.member("scout_bytes", summary.scout_bytes).member("vault_bytes", summary.vault_bytes);
  json.key("records").begin_array();
  for (const RecordSize& size : summary.records)
    json.begin_object()
        .member("bytes", size.record_bytes)
        .member("count", size.records)
        .end_object();
  json.end_array();
  if (summary.as_it_is)
    json.key("as_it_is")
        .begin_object()
        .member("reads", summary.as_it_is->reads)
        .member("read_bytes", summary.as_it_is->read_bytes)
        .member("record_bytes", summary.as_it_is->record_bytes)
        .end_object();
  write_tensors(json, summary);
  write_memory(json, summary);
  json.key("notes").begin_array();
  for (const std::string& note : summary.notes) json.value(note);
  json.end_array().end_object();
  return json.take() + "\n";
}

}  // namespace

Outcome inspect_command(Context& context) {
  const Settings& settings = context.settings;
  const Signals::AtOnce at_once(context.signals);
  SMOE_TRY(const Summary summary, summarize(settings.model, settings));
  SMOE_DO(context.terminal.print(settings.json ? json_report(summary)
                                               : text_report(settings, summary)));
  return ExitStatus::kDone;
}

}  // namespace smoe::cli
