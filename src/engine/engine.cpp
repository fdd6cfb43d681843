#include "engine/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/guard.h"
#include "base/log.h"
#include "base/system_memory.h"
#include "base/units.h"
#include "model/inventory.h"

namespace smoe {
namespace {

namespace fs = std::filesystem;

// Program, libraries, stacks of a few threads, file headers; and a tokenizer's tables against the
// size of its file (measured: docs/benchmarks.md).
constexpr uint64_t kProgramBytes = 24 * kMiB;
constexpr uint64_t kTokenizerFactor = 8;

Status check_segment(const VaultFile& file, const char* name, uint32_t rows, uint32_t cols) {
  const Segment* segment = file.info().record.find(name);
  if (segment == nullptr)
    return Error{Code::kCorrupt, fmt::format("{}: records have no {}", file.path().string(), name)};
  if (segment->rows == rows && segment->cols == cols) return {};
  return Error{Code::kCorrupt,
               fmt::format("{}: the {} of an expert is [{}, {}], the model needs [{}, {}]",
                           file.path().string(), name, segment->rows, segment->cols, rows, cols)};
}

Status check_vault(const VaultFile& file, const ModelFiles& model, uint32_t layer) {
  const FfnSpec& ffn = model.spec.layers[layer].ffn;
  const VaultInfo& info = file.info();
  if (info.fingerprint != model.scout.info().fingerprint)
    return Error{Code::kCorrupt,
                 fmt::format("{}: belongs to another model than {} (fingerprint {:016x}, expected "
                             "{:016x}); shatter the checkpoint again",
                             file.path().string(), model.scout.path().filename().string(),
                             info.fingerprint, model.scout.info().fingerprint)};
  if (info.layer != layer)
    return Error{Code::kCorrupt, fmt::format("{}: holds layer {}, expected {}",
                                             file.path().string(), info.layer, layer)};
  if (info.experts != ffn.experts)
    return Error{Code::kCorrupt, fmt::format("{}: holds {} experts, the model has {}",
                                             file.path().string(), info.experts, ffn.experts)};
  SMOE_DO(check_segment(file, "gate", ffn.width, model.spec.width));
  SMOE_DO(check_segment(file, "up", ffn.width, model.spec.width));
  return check_segment(file, "down", model.spec.width, ffn.width);
}

Error no_model(const fs::path& folder) {
  std::error_code ignored;
  const std::string name = folder.string();
  if (!fs::exists(folder, ignored)) return {Code::kNotFound, name + ": no such model folder"};
  const bool checkpoint = fs::exists(folder / "model.safetensors", ignored) ||
                          fs::exists(folder / "model.safetensors.index.json", ignored) ||
                          folder.extension() == ".safetensors" || folder.extension() == ".gguf";
  if (checkpoint)
    return {Code::kNotFound,
            fmt::format("{}: is a checkpoint that was not shattered yet; run\n  smoe "
                        "shatter {} MODEL\nand use MODEL here",
                        name, name)};
  if (fs::exists(folder / "vault", ignored))
    return {Code::kNotFound,
            name +
                ": is unfinished (no scout.safetensors); run the same smoe shatter "
                "again and it resumes"};
  return {Code::kNotFound, name + ": is no model folder (no scout.safetensors)"};
}

// Share of available memory that the default budget takes: the rest absorbs what other programs
// will ask for and what the kernel needs to keep the machine responsive.
uint64_t default_budget() {
  const uint64_t available = read_memory_limits().available_bytes;
  return available - available / 10;
}

}  // namespace

Result<ModelFiles> ModelFiles::open(const fs::path& folder) {
  std::error_code ignored;
  if (!fs::exists(folder / "scout.safetensors", ignored)) return no_model(folder);
  ModelFiles model;
  model.folder = folder;
  SMOE_TRY(model.scout, ScoutFile::open(folder / "scout.safetensors"));
  auto spec = ModelSpec::from_json(model.scout.info().spec_json);
  if (!spec) return std::move(spec).error().in(model.scout.path().string());
  model.spec = *std::move(spec);
  for (uint32_t layer = 0; layer < model.spec.layers.size(); ++layer) {
    if (model.spec.layers[layer].ffn.kind != FfnKind::kExperts) continue;
    SMOE_TRY(VaultFile file, VaultFile::open(folder / "vault" / vault_file_name(layer)));
    SMOE_DO(check_vault(file, model, layer));
    model.vault.push_back(std::move(file));
  }
  return model;
}

uint64_t ModelFiles::vault_bytes() const {
  uint64_t bytes = 0;
  for (const VaultFile& file : vault)
    bytes += file.info().record.record_bytes * file.info().experts;
  return bytes;
}

ModelSizes ModelFiles::sizes() const {
  ModelSizes sizes;
  sizes.scout_bytes = scout.data_bytes();
  for (const RecordClass& record : record_classes(vault))
    sizes.records.push_back({record.record_bytes, record.records});
  std::error_code error;
  const uint64_t tokenizer = fs::file_size(folder / "tokenizer.json", error);
  if (!error) sizes.tokenizer_bytes = tokenizer;
  return sizes;
}

Result<MemoryPlan> Engine::plan(const ModelSpec& spec, const ModelSizes& sizes,
                                const EngineOptions& options, const Device& device) {
  MemoryRequest request;
  request.budget_bytes = options.memory_bytes ? *options.memory_bytes : default_budget();
  request.budget_origin = options.memory_bytes ? "--memory" : "available memory";
  request.context = options.context.value_or(std::min(spec.context, kDefaultContext));
  if (request.context == 0 || request.context > spec.context)
    return Error{Code::kUsage,
                 fmt::format("a context of {} positions: this model was made for 1 to {}",
                             request.context, spec.context)};
  request.scout_bytes = sizes.scout_bytes;
  request.kv_bytes = KvCache::bytes_for(
      spec, {request.context, options.sequences, options.kv_positions.value_or(0)});
  request.fixed_bytes = kProgramBytes + kTokenizerFactor * sizes.tokenizer_bytes;
  request.sizes = sizes.records;
  request.scratch_of = [&, context = request.context](uint32_t rows) {
    return Scratch::bytes_for(spec, rows) +
           device.scratch_bytes(Scratch::limits_for(spec, rows, context));
  };
  request.ring_slots = options.ring_slots;
  request.prompt_chunk = options.prompt_chunk;
  return plan_memory(request);
}

Result<std::unique_ptr<Engine>> Engine::open(const fs::path& folder, const EngineOptions& options,
                                             Device& device) {
  return guarded([&] { return open_parts(folder, options, device); });
}

Result<std::unique_ptr<Engine>> Engine::open_parts(const fs::path& folder,
                                                   const EngineOptions& options, Device& device) {
  std::unique_ptr<Engine> engine(new Engine());
  SMOE_TRY(engine->files_, ModelFiles::open(folder));
  const ModelSpec& spec = engine->files_.spec;
  SMOE_TRY(engine->plan_, plan(spec, engine->files_.sizes(), options, device));
  const MemoryPlan& plan = engine->plan_;

  SMOE_TRY(engine->scout_, Scout::open(engine->files_.scout, spec, device));
  if (!engine->files_.vault.empty()) {
    StreamerOptions stream;
    stream.slots = plan.slots;
    stream.io = options.io;
    stream.readers = options.readers;
    stream.eviction = options.eviction;
    stream.observer = options.observer;
    stream.read_timeout_ns = options.read_timeout_ns;
    stream.verify = options.verify;
    stream.direct = options.direct;
    SMOE_TRY(engine->streamer_, Streamer::open(engine->files_.vault, stream));
    SMOE_TRY(engine->experts_,
             LocalExperts::open(engine->files_.vault, *engine->streamer_, device));
  }
  SMOE_TRY(engine->kv_,
           KvCache::open(spec, {plan.context, options.sequences, options.kv_positions.value_or(0)},
                         device));
  SMOE_DO(Scratch::allocate(spec, plan.prompt_chunk, device, engine->scratch_));
  engine->scratch_.routing.summarize = engine->streamer_ && engine->streamer_->wants_router();
  SMOE_DO(device.reserve(Scratch::limits_for(spec, plan.prompt_chunk, plan.context)));

  Step::Parts parts;
  parts.spec = &spec;
  parts.device = &device;
  parts.scout = engine->scout_.get();
  parts.kv = &*engine->kv_;
  parts.experts = engine->experts_.get();
  parts.scratch = &engine->scratch_;
  parts.cancelled = &engine->cancelled_;
  parts.bets = options.bets;
  engine->step_ = std::make_unique<Step>(parts);
  log::debug("{}: {} layers, {} records, {}", folder.string(), spec.layers.size(), plan.records,
             engine->stream_description());
  return engine;
}

Engine::~Engine() = default;

void Engine::cancel() {
  cancelled_.store(true, std::memory_order_relaxed);
  if (streamer_) streamer_->cancel();
}

void Engine::clear_cancel() {
  cancelled_.store(false, std::memory_order_relaxed);
  if (streamer_) streamer_->clear_cancel();
}

}  // namespace smoe
