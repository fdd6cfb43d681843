#include "cli/open_model.h"

#include <utility>

#include "base/log.h"
#include "base/units.h"
#include "devices/select.h"
#include "formats/companion.h"
#include "shatter/unshattered.h"

namespace smoe::cli {
namespace {

std::optional<uint32_t> narrow(const std::optional<uint64_t>& value) {
  if (!value) return std::nullopt;
  return static_cast<uint32_t>(*value);  // the flag table bounds every number
}

}  // namespace

Result<Tokenizer> load_tokenizer(const std::filesystem::path& model) {
  std::error_code ignored;
  if (is_gguf_path(model) || std::filesystem::exists(model / "tokenizer.json", ignored))
    return Tokenizer::load(model);
  return Error{Code::kNotFound,
               model.string() +
                   ": has no tokenizer.json, which turns text into tokens; copy the "
                   "checkpoint's into the folder (smoe logits works without)"};
}

std::tm local_time() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  return local;
}

Result<OpenModel> open_model(const Context& context, const OpenWishes& wishes) {
  const Settings& settings = context.settings;
  EngineOptions options;
  options.memory_bytes = wishes.memory_bytes ? wishes.memory_bytes : settings.memory_bytes;
  options.ring_slots = narrow(settings.ring_slots);
  options.context = settings.context_tokens ? narrow(settings.context_tokens) : wishes.positions;
  options.prompt_chunk =
      settings.prompt_chunk ? narrow(settings.prompt_chunk) : wishes.prompt_chunk;
  options.sequences = wishes.sequences.value_or(options.sequences);
  options.observer = wishes.observer;
  options.io = settings.io;
  options.read_timeout_ns = settings.read_timeout_s.value_or(0) * 1'000'000'000;
  options.eviction = settings.eviction;
  options.kv = wishes.unrounded ? KvType::kF32 : settings.kv;
  options.bets = settings.bets;
  options.elastic = settings.elastic;
  options.warm = true;
  options.remember_claims = settings.claims;
  options.mirror = settings.mirror.value_or("");
  options.verify = settings.verify;

  OpenModel model;
  model.pool = std::make_unique<ThreadPool>(threads_of(settings));
  SMOE_TRY(model.device,
           make_device({settings.device.value_or("auto"), settings.kernels, settings.cache_folder,
                        wishes.unrounded ? Activations::kF32 : settings.activations},
                       *model.pool));
  SMOE_TRY(ModelFiles files, open_model_files(wishes.model.value_or(settings.model)));
  for (const std::string& note : files.notes) log::info("{}: {}", files.path.string(), note);
  if (settings.vram_bytes && model.device->shares_memory())
    return Error{Code::kUsage, fmt::format("--vram: {} has no memory of its own; --memory is its "
                                           "budget",
                                           model.device->description())};
  options.device_memory_bytes = settings.vram_bytes;
  SMOE_TRY(model.engine, Engine::open(std::move(files), options, *model.device));
  const MemoryPlan& plan = model.engine->plan();
  log::debug("{}; {}", model.device->description(), model.engine->stream_description());
  log::debug(
      "memory: {} of {} planned: scout {}, KV cache {}, scratch {}, ring {} ({} of {} records)",
      format_bytes(plan.total_bytes()), format_bytes(plan.budget_bytes),
      format_bytes(plan.scout_bytes), format_bytes(plan.kv_bytes), format_bytes(plan.scratch_bytes),
      format_bytes(plan.ring_bytes), plan.ring_slots(), plan.records);
  return model;
}

CancelOnSignal::CancelOnSignal(Signals& signals, Engine& engine) : signals_(signals) {
  signals_.on_cancel([&engine] { engine.cancel(); });
}

}  // namespace smoe::cli
