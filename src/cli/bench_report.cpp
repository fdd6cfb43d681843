#include "cli/bench_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/json.h"
#include "cli/table.h"

namespace smoe::cli {
namespace {

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double total(const BenchResult& result) {
  return std::accumulate(result.seconds.begin(), result.seconds.end(), 0.0);
}

double rate(double amount, double seconds) { return seconds > 0 ? amount / seconds : 0; }

std::string percent(double part, double whole) {
  return fmt::format("{:.0f} %", 100 * rate(part, whole));
}

// Slowest and fastest repetition.
std::string spread(const BenchResult& result) {
  if (result.seconds.size() < 2) return "";
  const auto [least, most] = std::minmax_element(result.seconds.begin(), result.seconds.end());
  const auto tokens = static_cast<double>(result.tokens);
  return fmt::format("{:.2f}-{:.2f}", rate(tokens, *most), rate(tokens, *least));
}

std::vector<std::string> row_of(const BenchReport& report, const BenchResult& result) {
  const double touched = result.touched_per_token() * result.tokens_per_second();
  const double all = total(result);
  return {result.name,
          fmt::format("{:.2f}", result.tokens_per_second()),
          spread(result),
          fmt::format("{:.2f}", result.touched_per_token() * 1e-6),
          fmt::format("{:.2f}", touched * 1e-9),
          percent(touched, report.memory_bytes_per_second),
          percent(result.attention_seconds, all),
          percent(result.routing_seconds, all),
          percent(result.experts_seconds, all),
          percent(result.head_seconds, all),
          percent(result.wait_seconds, all)};
}

}  // namespace

double BenchResult::tokens_per_second() const {
  return rate(static_cast<double>(tokens), median(seconds));
}

double BenchResult::touched_per_token() const {
  return rate(static_cast<double>(touched_bytes),
              static_cast<double>(tokens * std::max<size_t>(1, seconds.size())));
}

std::string bench_table(const BenchReport& report, bool markdown) {
  const std::vector<Column> columns = {{"test", false},     {"tokens/s", true}, {"spread", true},
                                       {"MB/token", true},  {"GB/s", true},     {"of memory", true},
                                       {"attention", true}, {"routing", true},  {"experts", true},
                                       {"head", true},      {"waiting", true}};
  std::vector<std::vector<std::string>> rows;
  for (const BenchResult& result : report.results) rows.push_back(row_of(report, result));
  const std::string heading =
      fmt::format("{}: {} threads, ring of {} slots for {} records, memory read at {:.1f} GB/s\n\n",
                  report.model, report.threads, report.ring_slots, report.records,
                  report.memory_bytes_per_second * 1e-9);
  return heading + (markdown ? render_markdown(columns, rows) : render_table(columns, rows));
}

std::string bench_json(const BenchReport& report) {
  JsonWriter json;
  json.begin_object();
  json.member("model", std::string_view(report.model)).member("threads", uint64_t{report.threads});
  json.member("ring_slots", report.ring_slots).member("records", report.records);
  json.member("memory_bytes_per_second", report.memory_bytes_per_second);
  json.key("results").begin_array();
  for (const BenchResult& result : report.results) {
    json.begin_object().member("test", std::string_view(result.name));
    json.member("tokens", result.tokens).member("tokens_per_second", result.tokens_per_second());
    json.key("seconds").begin_array();
    for (const double seconds : result.seconds) json.value(seconds);
    json.end_array();
    json.member("bytes_touched_per_token", result.touched_per_token());
    json.member("disk_bytes", result.disk_bytes);
    json.key("split_seconds").begin_object();
    json.member("attention", result.attention_seconds).member("routing", result.routing_seconds);
    json.member("experts", result.experts_seconds).member("head", result.head_seconds);
    json.member("waiting", result.wait_seconds).end_object().end_object();
  }
  json.end_array().end_object();
  return json.take() + "\n";
}

}  // namespace smoe::cli
