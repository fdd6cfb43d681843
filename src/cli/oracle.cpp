// smoe oracle: what each eviction policy, and the best there can be, makes of a trace.
#include "stream/oracle.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/oracle_chart.h"
#include "cli/output_file.h"
#include "cli/table.h"
#include "stream/trace.h"

namespace smoe::cli {
namespace {

constexpr double kShares[] = {0.03, 0.06, 0.13, 0.17, 0.26, 0.5, 0.75};
constexpr std::string_view kDefaultPolicy = "fitted";

uint64_t vault_bytes(const Trace& trace) {
  uint64_t bytes = 0;
  for (const TraceLayer& layer : trace.layers()) bytes += layer.experts * layer.record_bytes;
  return bytes;
}

struct Study {
  OracleTable table;
  OracleTable larger;  // the same rings, each a GiB larger
};

Study study_of(const Trace& trace) {
  const double gib = static_cast<double>(kGiB) / static_cast<double>(vault_bytes(trace));
  std::vector<double> larger;
  for (const double share : kShares) larger.push_back(std::min(1.0, share + gib));
  return {simulate(trace, kShares, {}), simulate(trace, larger, {})};
}

double gain(const Study& study, size_t row) {
  return study.larger.hit_rate(row, kDefaultPolicy) - study.table.hit_rate(row, kDefaultPolicy);
}

std::string table_text(const Study& study) {
  std::vector<Column> columns{{"ring", true}, {"slots", true}, {"size", true}};
  for (const std::string& policy : study.table.policies) columns.push_back({policy, true});
  columns.push_back({"another GiB", true});
  std::vector<std::vector<std::string>> rows;
  for (size_t i = 0; i < study.table.rows.size(); ++i) {
    const OracleRow& row = study.table.rows[i];
    std::vector<std::string> cells{fmt::format("{:.0f} %", 100 * row.share),
                                   std::to_string(row.slots), format_bytes(row.ring_bytes)};
    for (const double rate : row.hit_rates) cells.push_back(fmt::format("{:.1f} %", 100 * rate));
    cells.push_back(fmt::format("{:+.1f}", 100 * gain(study, i)));
    rows.push_back(std::move(cells));
  }
  return render_table(columns, rows);
}

std::string json_text(const Study& study) {
  JsonWriter json;
  json.begin_object().member("demands", study.table.demands).key("rows").begin_array();
  for (size_t i = 0; i < study.table.rows.size(); ++i) {
    const OracleRow& row = study.table.rows[i];
    json.begin_object().member("share", row.share).member("slots", row.slots);
    json.member("ring_bytes", row.ring_bytes).key("hit_rates").begin_object();
    for (size_t policy = 0; policy < row.hit_rates.size(); ++policy)
      json.member(study.table.policies[policy], row.hit_rates[policy]);
    json.end_object().member("gain_of_a_gib", gain(study, i)).end_object();
  }
  json.end_array().end_object();
  return json.take() + "\n";
}

}  // namespace

Outcome oracle_command(Context& context) {
  const Settings& settings = context.settings;
  const Signals::AtOnce at_once(context.signals);
  if (settings.output) SMOE_DO(check_output(*settings.output, {settings.model}));
  SMOE_TRY(const Trace trace, Trace::read(settings.model));
  if (trace.visits() == 0) return Error{Code::kUsage, settings.model + ": the trace is empty"};
  const Study study = study_of(trace);
  const std::string name = std::filesystem::path(settings.model).filename().string();
  if (settings.output)
    SMOE_DO(replace_file(*settings.output,
                         oracle_chart(study.table, name + ": demands found in the ring")));
  SMOE_DO(context.terminal.print(
      settings.json ? json_text(study)
                    : fmt::format("{}: {} demands; share of them found in the ring:\n\n{}", name,
                                  study.table.demands, table_text(study))));
  return ExitStatus::kDone;
}

}  // namespace smoe::cli
