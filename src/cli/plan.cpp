// smoe plan: how fast a model will run here, before it is converted.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/log.h"
#include "base/thread_pool.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/forecast.h"
#include "cli/forecast_log.h"
#include "cli/outline.h"
#include "cli/table.h"
#include "devices/cpu/cpu_device.h"
#include "stream/disk_probe.h"

namespace smoe::cli {
namespace {

// The probe's parts take ten seconds together at most.
constexpr uint64_t kDiskTimeNs = 700'000'000;
constexpr uint64_t kStepsTimeNs = 1'500'000'000;

struct BudgetRow {
  MemoryPlan plan;
  Forecast forecast;
};

struct PlanReport {
  PlanReport(std::string name, const Outline& of) : model(std::move(name)), outline(of) {}

  std::string model;
  const Outline& outline;
  unsigned threads = 1;
  uint32_t prompt_tokens = 0;
  Measurements measured;
  BudgetRow chosen;
  std::vector<BudgetRow> others;  // other budgets, ascending
  std::vector<MeasuredRun> runs;  // earlier ones of the same plan
  double predicted_before = 0;    // tokens a second; 0: never
};

Result<DiskSpeed> probe(const Outline& outline) {
  uint64_t record = kPageBytes;
  for (const RecordSize& size : outline.sizes.records) record = std::max(record, size.record_bytes);
  DiskProbeOptions options;
  options.block_bytes = std::min<uint64_t>(record, 16 * kMiB);
  options.time_ns = kDiskTimeNs;
  return probe_disk(outline.files, options);
}

class Planner {
 public:
  Planner(const Settings& settings, const Outline& outline, const Device& device)
      : settings_(settings), outline_(outline), device_(device) {}

  Result<MemoryPlan> plan(std::optional<uint64_t> memory_bytes) const {
    EngineOptions options;
    options.memory_bytes = memory_bytes;
    if (settings_.context_tokens)
      options.context = static_cast<uint32_t>(*settings_.context_tokens);
    if (settings_.ring_slots) options.ring_slots = static_cast<uint32_t>(*settings_.ring_slots);
    options.kv = settings_.kv;
    return Engine::plan(outline_.spec, outline_.sizes, options, device_);
  }

 private:
  const Settings& settings_;
  const Outline& outline_;
  const Device& device_;
};

// Half, twice, four times … as far as they say something new.
std::vector<BudgetRow> other_budgets(const Planner& planner, const PlanReport& report) {
  std::vector<BudgetRow> rows;
  const uint64_t chosen = report.chosen.plan.budget_bytes;
  Measurements measured = report.measured;
  measured.hit_rate.reset();
  for (const uint64_t budget :
       {chosen / 4, chosen / 2, chosen, 2 * chosen, 4 * chosen, 8 * chosen}) {
    const auto plan = planner.plan(budget);
    if (!plan) continue;
    rows.push_back({*plan, budget == chosen ? report.chosen.forecast
                                            : forecast_of(report.outline.spec, report.outline.sizes,
                                                          *plan, measured, report.prompt_tokens)});
    if (rows.back().forecast.resident_share >= 1 && budget >= chosen) break;
  }
  return rows;
}

std::string memory_text(const MemoryPlan& plan) {
  const auto line = [](std::string_view name, uint64_t bytes, const std::string& note) {
    return fmt::format("  {:<14}{:>11}  {}", name, format_bytes(bytes), note);
  };
  std::string text = fmt::format("Memory, of a budget of {}\n", format_bytes(plan.budget_bytes));
  for (const std::string& one :
       {line("scout", plan.scout_bytes, ""),
        line("KV cache", plan.kv_bytes, fmt::format("{} positions", plan.context)),
        line("scratch", plan.scratch_bytes, fmt::format("chunks of {} tokens", plan.prompt_chunk)),
        line("ring", plan.ring_bytes,
             fmt::format("{} of {} experts", plan.ring_slots(), plan.records)),
        line("program", plan.fixed_bytes, ""), line("together", plan.total_bytes(), "")})
    text += one.substr(0, one.find_last_not_of(' ') + 1) + "\n";
  return text;
}

std::string forecast_text(const PlanReport& report) {
  const Forecast& forecast = report.chosen.forecast;
  std::string text = "Predicted\n";
  text += fmt::format("  generation    {:.1f} tokens/s, limited by {}\n",
                      forecast.tokens_per_second(), name_of(forecast.limit));
  text += fmt::format("  first token   {:.2f} s after a prompt of {} tokens, from a cold start\n",
                      forecast.first_token_seconds, report.prompt_tokens);
  text += fmt::format(
      "  a token       {:.1f} ms of computing, {:.1f} ms of reading: {} at {:.0f} % "
      "hits{}\n",
      1e3 * forecast.compute_seconds, 1e3 * forecast.disk_seconds,
      format_bytes(static_cast<uint64_t>(forecast.token_bytes)), 100 * forecast.hit_rate,
      report.measured.hit_rate ? ", as in earlier runs" : ", if its routing is usual");
  text += fmt::format("  measured now  disk {:.2f} GB/s at random and {:.2f} in sequence{}\n",
                      report.measured.disk.random_bytes_per_second * 1e-9,
                      report.measured.disk.sequential_bytes_per_second * 1e-9,
                      report.measured.disk.direct ? "" : ", through the page cache");
  if (report.runs.empty()) return text;
  text += fmt::format("  earlier runs  {:.1f} tokens/s were predicted, and came to",
                      report.predicted_before);
  for (const MeasuredRun& run : report.runs) text += fmt::format(" {:.1f}", run.tokens_per_second);
  return text + "\n";
}

std::string budgets_text(const std::vector<BudgetRow>& budgets) {
  std::vector<std::vector<std::string>> rows;
  rows.reserve(budgets.size());
  for (const BudgetRow& row : budgets)
    rows.push_back({format_bytes(row.plan.budget_bytes),
                    fmt::format("{:.0f} %", 100 * row.forecast.resident_share),
                    fmt::format("{:.1f}", row.forecast.tokens_per_second()),
                    fmt::format("{:.2f} s", row.forecast.first_token_seconds),
                    std::string(name_of(row.forecast.limit))});
  return render_table({{"memory", true},
                       {"experts resident", true},
                       {"tokens/s", true},
                       {"first token", true},
                       {"limited by"}},
                      rows);
}

std::string plan_text(const PlanReport& report) {
  std::string text =
      fmt::format("{}: {}, {} threads\n\n", report.model, report.outline.kind, report.threads);
  text += memory_text(report.chosen.plan) + "\n" + forecast_text(report) + "\n" +
          (report.others.empty() ? std::string() : budgets_text(report.others));
  for (const std::string& note : report.outline.notes) text += fmt::format("note: {}\n", note);
  return text;
}

void write_row(JsonWriter& json, const BudgetRow& row) {
  const Forecast& forecast = row.forecast;
  json.begin_object().member("budget_bytes", row.plan.budget_bytes);
  json.member("planned_bytes", row.plan.total_bytes()).member("scout_bytes", row.plan.scout_bytes);
  json.member("kv_bytes", row.plan.kv_bytes).member("scratch_bytes", row.plan.scratch_bytes);
  json.member("ring_bytes", row.plan.ring_bytes).member("ring_slots", row.plan.ring_slots());
  json.member("records", row.plan.records).member("context", row.plan.context);
  json.member("prompt_chunk", row.plan.prompt_chunk);
  json.member("hit_rate", forecast.hit_rate);
  json.member("tokens_per_second", forecast.tokens_per_second());
  json.member("first_token_seconds", forecast.first_token_seconds);
  json.member("compute_ms", 1e3 * forecast.compute_seconds);
  json.member("disk_ms", 1e3 * forecast.disk_seconds);
  json.member("bytes_per_token", forecast.token_bytes);
  json.member("limited_by", name_of(forecast.limit)).end_object();
}

std::string plan_json(const PlanReport& report) {
  JsonWriter json;
  json.begin_object().member("model", report.model).member("kind", report.outline.kind);
  json.member("fingerprint", fmt::format("{:016x}", report.outline.scout.fingerprint));
  json.member("threads", uint64_t{report.threads});
  json.member("prompt_tokens", uint64_t{report.prompt_tokens});
  json.key("plan");
  write_row(json, report.chosen);
  json.key("budgets").begin_array();
  for (const BudgetRow& row : report.others) write_row(json, row);
  json.end_array();
  const DiskSpeed& disk = report.measured.disk;
  json.key("disk").begin_object().member("direct", disk.direct);
  json.member("random_bytes_per_second", disk.random_bytes_per_second);
  json.member("sequential_bytes_per_second", disk.sequential_bytes_per_second).end_object();
  json.key("earlier").begin_object().member("predicted_per_second", report.predicted_before);
  json.key("measured_per_second").begin_array();
  for (const MeasuredRun& run : report.runs) json.value(run.tokens_per_second);
  json.end_array().end_object();
  json.key("notes").begin_array();
  for (const std::string& note : report.outline.notes) json.value(note);
  json.end_array().end_object();
  return json.take() + "\n";
}

// What those runs found in the ring that were long enough to fill it.
std::optional<double> earlier_hit_rate(const std::vector<MeasuredRun>& runs) {
  constexpr uint64_t kLongRun = 64;
  double sum = 0;
  int count = 0;
  for (const MeasuredRun& run : runs) {
    if (run.tokens < kLongRun) continue;
    sum += run.hit_rate;
    ++count;
  }
  if (count == 0) return {};
  return sum / count;
}

}  // namespace

Outcome plan_command(Context& context) {
  const Settings& settings = context.settings;
  const Signals::AtOnce at_once(context.signals);
  SMOE_TRY(const Outline outline, outline_of(settings));
  ThreadPool pool(threads_of(settings));
  SMOE_TRY(const std::unique_ptr<Device> device,
           make_cpu_device(pool, settings.kernels, settings.activations));
  const Planner planner(settings, outline, *device);
  PlanReport report(settings.model, outline);
  report.threads = pool.threads();
  SMOE_TRY(report.chosen.plan, planner.plan(settings.memory_bytes));
  report.prompt_tokens = static_cast<uint32_t>(
      std::clamp<uint64_t>(settings.prompt_tokens, 1, report.chosen.plan.context - 1));

  ForecastLog log(settings.state_folder);
  const ForecastKey key{outline.scout.fingerprint, report.chosen.plan.ring_slots(), report.threads};
  if (const ForecastEntry* before = log.find(key)) {
    report.runs = before->runs;
    report.predicted_before = before->tokens_per_second;
    report.measured.hit_rate = earlier_hit_rate(before->runs);
  }
  SMOE_TRY(report.measured.disk, probe(outline));
  SMOE_TRY(
      report.measured.rehearsal,
      rehearse(outline.spec, outline.scout, outline.layers,
               {.prompt_tokens = report.prompt_tokens, .time_ns = kStepsTimeNs, .kv = settings.kv},
               *device));
  report.chosen.forecast = forecast_of(outline.spec, outline.sizes, report.chosen.plan,
                                       report.measured, report.prompt_tokens);
  if (!settings.ring_slots) report.others = other_budgets(planner, report);
  const Forecast& forecast = report.chosen.forecast;
  log.predict(
      {key, report.prompt_tokens, forecast.tokens_per_second(), forecast.first_token_seconds, {}});
  if (Status saved = log.save(); !saved)
    context.terminal.print_warning("the prediction is not remembered: " + saved.error().message);
  SMOE_DO(context.terminal.print(settings.json ? plan_json(report) : plan_text(report)));
  return ExitStatus::kDone;
}

}  // namespace smoe::cli
