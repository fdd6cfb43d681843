// smoe bench: how fast, how near to the speed of memory, and where the time goes.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/rng.h"
#include "cli/bench_report.h"
#include "cli/commands.h"
#include "cli/open_model.h"
#include "devices/cpu/read_bandwidth.h"
#include "engine/kv_cache.h"
#include "engine/session.h"

namespace smoe::cli {
namespace {

Result<std::vector<uint64_t>> depths_of(const Settings& settings) {
  std::vector<uint64_t> depths;
  for (const std::string& text : settings.depths) {
    uint32_t depth = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), depth);
    if (error != std::errc() || end != text.data() + text.size())
      return Error{Code::kUsage, fmt::format("--depth {}: no number of tokens", text)};
    depths.push_back(depth);
  }
  if (depths.empty()) depths.push_back(0);
  return depths;
}

// Weights do not care which tokens they see; the router does, so they are spread evenly.
std::vector<TokenId> random_tokens(size_t count, uint32_t vocabulary) {
  Rng rng(1);
  std::vector<TokenId> tokens(count);
  for (TokenId& token : tokens) token = TokenId{static_cast<uint32_t>(rng.next() % vocabulary)};
  return tokens;
}

class Bench {
 public:
  Bench(Context& context, Engine& engine, Session& session)
      : context_(context), engine_(engine), session_(session) {}

  Result<BenchResult> prompt(uint64_t depth) {
    const uint64_t tokens = context_.settings.prompt_tokens;
    return measure("pp", depth, tokens, [&](std::span<const TokenId> timed) {
      return session_.append(timed, [](size_t, size_t) {});
    });
  }
  Result<BenchResult> generation(uint64_t depth) {
    const uint64_t tokens = context_.settings.gen_tokens;
    return measure("tg", depth, tokens, [&](std::span<const TokenId> timed) -> Status {
      for (const TokenId token : timed) SMOE_DO(session_.append(token));
      return {};
    });
  }

 private:
  template <class Work>
  Result<BenchResult> measure(std::string_view kind, uint64_t depth, uint64_t tokens, Work work);
  void add_difference(const StepStats& steps, const StreamStats& stream, uint64_t depth,
                      BenchResult& result) const;
  uint64_t kv_bytes(uint64_t depth, uint64_t tokens, uint64_t steps) const;
  void say(const std::string& name, uint64_t round) const {
    if (context_.terminal.shows_progress())
      context_.terminal.print_note(
          fmt::format("\r\033[K{}, {} of {}", name, round + 1, context_.settings.repeat));
  }

  Context& context_;
  Engine& engine_;
  Session& session_;
};

template <class Work>
Result<BenchResult> Bench::measure(std::string_view kind, uint64_t depth, uint64_t tokens,
                                   Work work) {
  BenchResult result;
  result.name =
      depth > 0 ? fmt::format("{}{}@{}", kind, tokens, depth) : fmt::format("{}{}", kind, tokens);
  result.tokens = tokens;
  const std::vector<TokenId> all = random_tokens(depth + tokens, engine_.spec().vocabulary);
  const auto before = std::span(all).first(depth);
  const auto timed = std::span(all).subspan(depth);
  // The first round warms caches and is not counted.
  for (uint64_t round = 0; round <= context_.settings.repeat; ++round) {
    if (round > 0) say(result.name, round - 1);
    session_.rewind(0);
    if (depth > 0) SMOE_DO(session_.append(before, [](size_t, size_t) {}));
    const StepStats steps = engine_.step_stats();
    const StreamStats stream = engine_.stream_stats();
    const uint64_t begin_ns = now_ns();
    SMOE_DO(work(timed));
    const uint64_t end_ns = now_ns();
    if (round == 0) continue;
    result.seconds.push_back(static_cast<double>(end_ns - begin_ns) * 1e-9);
    add_difference(steps, stream, depth, result);
  }
  if (context_.terminal.shows_progress()) context_.terminal.print_note("\r\033[K");
  return result;
}

// Keys and values that attention reads in so many steps over `tokens` tokens, from `depth` on.
uint64_t Bench::kv_bytes(uint64_t depth, uint64_t tokens, uint64_t steps) const {
  const uint64_t position =
      KvCache::bytes_for(engine_.spec(), {engine_.context(), 1, 0, engine_.kv().type()}) /
      engine_.context();
  return position * steps * (depth + (tokens + 1) / 2);
}

void Bench::add_difference(const StepStats& steps, const StreamStats& stream, uint64_t depth,
                           BenchResult& result) const {
  const StepStats now = engine_.step_stats();
  const StreamStats read = engine_.stream_stats();
  const auto seconds = [](uint64_t to, uint64_t from) {
    return static_cast<double>(to - from) * 1e-9;
  };
  const double waited = seconds(read.wait_ns, stream.wait_ns);
  const uint64_t passes = now.steps - steps.steps;
  result.touched_bytes += passes * engine_.scout().step_bytes() +
                          (now.expert_bytes - steps.expert_bytes) +
                          kv_bytes(depth, result.tokens, passes);
  result.disk_bytes += read.bytes_read - stream.bytes_read;
  result.attention_seconds += seconds(now.attention_ns, steps.attention_ns);
  result.routing_seconds += seconds(now.routing_ns, steps.routing_ns);
  result.experts_seconds += std::max(0.0, seconds(now.ffn_ns, steps.ffn_ns) - waited);
  result.head_seconds += seconds(now.head_ns, steps.head_ns);
  result.wait_seconds += waited;
}

// What a GPU has room for is there before anything is timed.
void wait_for_device(const Context& context, const Engine& engine) {
  if (engine.filling_device() && context.terminal.shows_progress())
    context.terminal.print_note("experts go to the GPU");
  while (engine.filling_device() && !context.signals.cancelled())
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

}  // namespace

Outcome bench_command(Context& context) {
  const Settings& settings = context.settings;
  SMOE_TRY(const std::vector<uint64_t> depths, depths_of(settings));
  if (settings.prompt_tokens == 0 && settings.gen_tokens == 0)
    return Error{Code::kUsage, "nothing to time: --prompt-tokens and --gen-tokens are both 0"};
  const uint64_t longest = std::max(settings.prompt_tokens, settings.gen_tokens) +
                           *std::max_element(depths.begin(), depths.end());
  SMOE_TRY(const OpenModel model,
           open_model(context, {.positions = static_cast<uint32_t>(longest)}));
  Engine& engine = *model.engine;
  if (longest > engine.context())
    return Error{
        Code::kUsage,
        fmt::format("--depth and the tokens to time are {} together, the context holds {}; "
                    "--ctx makes it longer",
                    longest, engine.context())};
  SMOE_TRY(Session session, Session::open(engine));
  const CancelOnSignal cancel(context.signals, engine);
  wait_for_device(context, engine);

  BenchReport report;
  report.model = std::filesystem::path(settings.model).filename().string();
  report.threads = model.pool->threads();
  report.ring_slots = engine.plan().ring_slots();
  report.records = engine.plan().records;
  Bench bench(context, engine, session);
  for (const uint64_t depth : depths) {
    if (settings.prompt_tokens > 0) {
      SMOE_TRY(report.results.emplace_back(), bench.prompt(depth));
    }
    if (settings.gen_tokens > 0) {
      SMOE_TRY(report.results.emplace_back(), bench.generation(depth));
    }
  }
  // After the tests, so that the scout has arrived.
  report.memory_bytes_per_second = read_bandwidth(*model.pool, engine.scout().memory());
  SMOE_DO(context.terminal.print(settings.json ? bench_json(report)
                                               : bench_table(report, settings.markdown)));
  return ExitStatus::kDone;
}

}  // namespace smoe::cli
