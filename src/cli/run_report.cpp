#include "cli/run_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/system_memory.h"
#include "base/units.h"
#include "cli/table.h"
#include "engine/speed_report.h"

namespace smoe::cli {
namespace {

double rate(size_t count, uint64_t ns) {
  return ns == 0 ? 0 : static_cast<double>(count) / (static_cast<double>(ns) * 1e-9);
}

double milliseconds(uint64_t ns) { return static_cast<double>(ns) * 1e-6; }

double share(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

// The first token's cost is the prompt's; decode counts the tokens after it.
size_t decoded_tokens(const Generation& generation) {
  return generation.tokens.empty() ? 0 : generation.tokens.size() - 1;
}

std::string_view name_of(Finish finish) {
  switch (finish) {
    case Finish::kStop:
      return "stop";
    case Finish::kLength:
      return "length";
    case Finish::kContextFull:
      return "context_full";
    case Finish::kCancelled:
      return "cancelled";
  }
  return "";
}

// A run waits for nobody else, so its time is the steps'.
SpeedReport speed_of(const Engine& engine, const Generation& generation) {
  SpeedReport report;
  report.step_ns = generation.prompt_ns + generation.decode_ns;
  report.stall_ns = engine.stream_stats().wait_ns;
  report.limit = limit_of(report, ring_is_short(engine));
  return report;
}

std::string limit_line(const SpeedReport& report) {
  return fmt::format("{:.0f} % of the time went into waiting for records",
                     100 * share(std::min(report.stall_ns, report.step_ns), report.step_ns));
}

std::string ring_text(const StreamStats& stream, const MemoryPlan& plan) {
  std::string text = fmt::format("{} slots for {} records", plan.ring_slots(), plan.records);
  if (stream.slots_retired > 0)
    text += fmt::format("; {} given back for others, {} in use now", stream.slots_retired,
                        stream.ring_slots);
  return text;
}

// Scout, ring and KV cache ask for huge pages; whether the kernel grants them only it knows.
std::vector<std::string> huge_pages_row() {
  const auto huge = read_huge_pages();
  if (!huge) return {"huge pages", "not known", "this system does not tell"};
  return {"huge pages", format_bytes(huge->huge_bytes),
          fmt::format("granted of {} of memory in use now", format_bytes(huge->memory_bytes))};
}

uint64_t tokens_of(const Generation& generation) {
  return generation.prompt_tokens + generation.tokens.size();
}

}  // namespace

std::string speed_line(const Generation& generation) {
  // One token and none have no speed.
  if (decoded_tokens(generation) == 0)
    return fmt::format("{} token{}", generation.tokens.size(),
                       generation.tokens.empty() ? "s" : "");
  return fmt::format("{} tokens, {:.1f} tokens/s", generation.tokens.size(),
                     rate(decoded_tokens(generation), generation.decode_ns));
}

std::string run_table(const Engine& engine, const Generation& generation) {
  const StreamStats stream = engine.stream_stats();
  const MemoryPlan& plan = engine.plan();
  const SpeedReport speed = speed_of(engine, generation);
  const std::vector<Column> columns = {{"what", false}, {"value", true}, {"of this run", false}};
  std::vector<std::vector<std::string>> rows = {
      {"prompt",
       fmt::format("{:.1f} tokens/s", rate(generation.prompt_tokens, generation.prompt_ns)),
       fmt::format("{} tokens in {:.0f} ms", generation.prompt_tokens,
                   milliseconds(generation.prompt_ns))},
      {"decode",
       fmt::format("{:.1f} tokens/s", rate(decoded_tokens(generation), generation.decode_ns)),
       fmt::format("{} tokens in {:.0f} ms", decoded_tokens(generation),
                   milliseconds(generation.decode_ns))},
      {"limited by", std::string(name_of(speed.limit)), limit_line(speed)},
      {"time to first token", fmt::format("{:.0f} ms", milliseconds(generation.first_token_ns)),
       ""},
      {"read from disk", format_bytes(stream.bytes_read),
       fmt::format("{} records, {} a token, waited {:.0f} ms", stream.reads,
                   format_bytes(stream.bytes_read / std::max<uint64_t>(1, tokens_of(generation))),
                   milliseconds(stream.wait_ns))},
      {"ring hits", fmt::format("{:.1f} %", 100 * share(stream.hits, stream.demands)),
       fmt::format("{} of {} demands", stream.hits, stream.demands)},
      {"disk busy", fmt::format("{:.0f} ms", milliseconds(stream.disk_busy_ns)),
       fmt::format("{:.0f} % of it while computing",
                   100 * share(stream.overlap_ns(), stream.disk_busy_ns))},
      {"re-tiled", format_bytes(stream.retiled_bytes),
       stream.retiled_bytes == 0 ? "records are read as they are used"
                                 : fmt::format("as it arrived, in {:.0f} ms of all readers",
                                               milliseconds(stream.retile_ns))},
      {"bets", fmt::format("{}", stream.bets),
       fmt::format("{} of them used; {} read in vain", stream.bets_used,
                   format_bytes(stream.bet_bytes_wasted))},
      {"ring", format_bytes(plan.ring_bytes), ring_text(stream, plan)},
      {"scout", format_bytes(plan.scout_bytes), ""},
      {"KV cache", format_bytes(plan.kv_bytes),
       fmt::format("{} positions, {}", plan.context, name_of(engine.kv().type()))},
      {"scratch", format_bytes(plan.scratch_bytes),
       fmt::format("prompt chunks of {} tokens", plan.prompt_chunk)},
      {"memory planned", format_bytes(plan.total_bytes()),
       fmt::format("of a budget of {}", format_bytes(plan.budget_bytes))},
      {"memory used", format_bytes(peak_resident_bytes()), "peak"},
      huge_pages_row(),
  };
  if (const auto device = engine.device_records())
    rows.push_back({"on the GPU", fmt::format("{} experts", device->there),
                    fmt::format("of {}, there is room for {}", plan.records, device->slots)});
  return render_table(columns, rows);
}

std::string run_json(const Engine& engine, const Generation& generation, const AnswerOutput& answer,
                     uint64_t seed) {
  const StreamStats stream = engine.stream_stats();
  const MemoryPlan& plan = engine.plan();
  JsonWriter json;
  json.begin_object();
  json.member("text", std::string_view(answer.text()));
  if (!answer.thinking().empty()) json.member("reasoning", std::string_view(answer.thinking()));
  json.member("finish", name_of(generation.finish)).member("seed", seed);
  json.member("limited_by", name_of(speed_of(engine, generation).limit));
  json.key("usage").begin_object();
  json.member("prompt_tokens", uint64_t{generation.prompt_tokens});
  json.member("completion_tokens", uint64_t{generation.tokens.size()});
  json.member("total_tokens", tokens_of(generation)).end_object();
  json.key("timings").begin_object();
  json.member("prompt_ms", milliseconds(generation.prompt_ns));
  json.member("prompt_per_second", rate(generation.prompt_tokens, generation.prompt_ns));
  json.member("first_token_ms", milliseconds(generation.first_token_ns));
  json.member("predicted_ms", milliseconds(generation.decode_ns));
  json.member("predicted_per_second", rate(decoded_tokens(generation), generation.decode_ns));
  json.end_object();
  json.key("experts").begin_object();
  json.member("demands", stream.demands).member("hits", stream.hits);
  json.member("misses", stream.demands - stream.hits).member("bytes_read", stream.bytes_read);
  json.member("bets", stream.bets).member("bets_used", stream.bets_used);
  json.member("bet_bytes_used", stream.bet_bytes_used);
  json.member("bet_bytes_wasted", stream.bet_bytes_wasted);
  json.member("disk_busy_ms", milliseconds(stream.disk_busy_ns));
  json.member("overlap_ms", milliseconds(stream.overlap_ns()));
  json.member("rescues", stream.rescues);
  json.member("retries", stream.retries).member("retiled_bytes", stream.retiled_bytes);
  json.member("retile_ms", milliseconds(stream.retile_ns));
  json.member("stall_ms", milliseconds(stream.wait_ns)).end_object();
  json.key("memory").begin_object();
  json.member("planned_bytes", plan.total_bytes()).member("budget_bytes", plan.budget_bytes);
  json.member("peak_bytes", peak_resident_bytes());
  if (const auto huge = read_huge_pages()) json.member("huge_page_bytes", huge->huge_bytes);
  json.member("ring_slots", plan.ring_slots()).member("context", plan.context);
  if (const auto device = engine.device_records())
    json.member("device_slots", device->slots).member("device_records", device->there);
  json.member("ring_slots_in_use", stream.ring_slots);
  json.member("ring_slots_given_back", stream.slots_retired);
  json.member("prompt_chunk", plan.prompt_chunk).end_object();
  json.end_object();
  return json.take() + "\n";
}

}  // namespace smoe::cli
