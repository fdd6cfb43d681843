#include "engine/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/guard.h"
#include "base/log.h"
#include "base/system_memory.h"
#include "base/units.h"
#include "stream/claims.h"

namespace smoe {
namespace {

// Program, libraries, stacks of a few threads, file headers; and a tokenizer's tables against the
// size of its file (measured: docs/benchmarks.md).
constexpr uint64_t kProgramBytes = 24 * kMiB;
constexpr uint64_t kTokenizerFactor = 8;

// Share of available memory that the default budget takes: the rest absorbs what other programs
// will ask for and what the kernel needs to keep the machine responsive.
uint64_t default_budget() {
  const uint64_t available = read_memory_limits().available_bytes;
  return available - available / 10;
}

// Nothing without a path.
Result<ModelFiles> open_mirror(const std::filesystem::path& path, const ModelFiles& model) {
  if (path.empty()) return ModelFiles();
  SMOE_TRY(ModelFiles mirror, ModelFiles::open(path));
  if (mirror.scout.info().fingerprint == model.scout.info().fingerprint &&
      mirror.scout.data_begin() == model.scout.data_begin() && !model.scout_reader)
    return mirror;
  return Error{Code::kUsage,
               fmt::format("--mirror {}: is not a copy of {}", path.string(), model.path.string())};
}

// More than there is would be swapped, or end this process: the smallest limit counts.
std::optional<uint64_t> within_limits(std::optional<uint64_t> asked_bytes) {
  if (!asked_bytes) return {};
  const MemoryLimits limits = read_memory_limits();
  const uint64_t most = limits.cgroup_bytes.value_or(limits.total_bytes);
  if (most == 0 || *asked_bytes <= most) return asked_bytes;
  const uint64_t budget = most - most / 10;
  log::warn("--memory {}: {} has {}, so {} are used", format_bytes(*asked_bytes),
            limits.cgroup_bytes ? "the cgroup" : "the machine", format_bytes(most),
            format_bytes(budget));
  return budget;
}

KvCache::Size kv_size(const EngineOptions& options, uint32_t context) {
  return {context, options.sequences, options.kv_positions.value_or(0), options.kv};
}

}  // namespace

std::filesystem::path claims_path(const std::filesystem::path& model) {
  std::error_code ignored;
  if (std::filesystem::is_directory(model, ignored)) return model / "claims.bin";
  return model.string() + ".claims";
}

ModelSizes sizes_of(const ModelFiles& files, unsigned readers) {
  ModelSizes sizes;
  sizes.scout_bytes = files.scout.data_bytes();
  for (const RecordClass& record : record_classes(files.vault))
    sizes.records.push_back({record.record_bytes, record.records});
  sizes.tokenizer_bytes = files.tokenizer_bytes;
  sizes.arrival_bytes = arrival_bytes(files.vault, readers);
  if (files.scout_reader) sizes.arrival_bytes += files.scout_reader->buffer_bytes();
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
  request.kv_bytes = KvCache::bytes_for(spec, kv_size(options, request.context));
  request.fixed_bytes = kProgramBytes + kTokenizerFactor * sizes.tokenizer_bytes;
  request.sizes = sizes.records;
  request.scratch_of = [&, context = request.context](uint32_t rows) {
    return sizes.arrival_bytes + Scratch::bytes_for(spec, rows) +
           (options.importance != nullptr ? Importance::bytes_for(spec, rows) : 0) +
           device.scratch_bytes(Scratch::limits_for(spec, rows, context));
  };
  request.ring_slots = options.ring_slots;
  request.prompt_chunk = options.prompt_chunk;
  return plan_memory(request);
}

Result<std::unique_ptr<Engine>> Engine::open(const std::filesystem::path& folder,
                                             const EngineOptions& options, Device& device) {
  return guarded([&]() -> Result<std::unique_ptr<Engine>> {
    SMOE_TRY(ModelFiles files, ModelFiles::open(folder));
    return open_parts(std::move(files), options, device);
  });
}

Result<std::unique_ptr<Engine>> Engine::open(ModelFiles files, const EngineOptions& options,
                                             Device& device) {
  return guarded([&] { return open_parts(std::move(files), options, device); });
}

Result<std::unique_ptr<Engine>> Engine::open_parts(ModelFiles files, const EngineOptions& wishes,
                                                   Device& device) {
  EngineOptions options = wishes;
  options.memory_bytes = within_limits(wishes.memory_bytes);
  std::unique_ptr<Engine> engine(new Engine());
  engine->files_ = std::move(files);
  const ModelSpec& spec = engine->files_.spec;
  SMOE_TRY(engine->plan_, plan(spec, sizes_of(engine->files_, options.readers), options, device));
  const MemoryPlan& plan = engine->plan_;
  SMOE_TRY(ModelFiles mirror, open_mirror(options.mirror, engine->files_));

  SMOE_TRY(engine->scout_,
           Scout::open(engine->files_.scout, spec, device, engine->files_.scout_reader,
                       mirror.path.empty() ? mirror.path : mirror.scout.path()));
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
    stream.mirror = std::move(mirror.vault);
    SMOE_TRY(engine->streamer_, Streamer::open(engine->files_.vault, stream));
    SMOE_TRY(std::unique_ptr<DeviceCache> cache, engine->open_device_cache(options, device));
    SMOE_TRY(engine->experts_, LocalExperts::open(engine->files_.vault, plan.slots,
                                                  *engine->streamer_, device, std::move(cache)));
  }
  SMOE_TRY(engine->kv_, KvCache::open(spec, kv_size(options, plan.context), device));
  SMOE_DO(Scratch::allocate(spec, plan.prompt_chunk, device, engine->scratch_));
  const bool cache_wants_router = engine->experts_ && engine->experts_->cache() != nullptr &&
                                  engine->experts_->cache()->wants_router();
  engine->scratch_.routing.summarize =
      engine->streamer_ && (engine->streamer_->wants_router() || cache_wants_router);
  SMOE_DO(device.reserve(Scratch::limits_for(spec, plan.prompt_chunk, plan.context)));

  if (options.importance != nullptr) SMOE_DO(options.importance->attach(device, plan.prompt_chunk));
  Step::Parts parts;
  parts.spec = &spec;
  parts.device = &device;
  parts.scout = engine->scout_.get();
  parts.kv = &*engine->kv_;
  parts.experts = engine->experts_.get();
  parts.scratch = &engine->scratch_;
  parts.cancelled = &engine->cancelled_;
  parts.bets = options.bets;
  parts.importance = options.importance;
  parts.observed = options.observer != nullptr || options.importance != nullptr;
  engine->step_ = std::make_unique<Step>(parts);
  engine->remember_claims_ = options.remember_claims;
  if (options.warm && engine->streamer_) engine->start_warming();
  // What a device has imported stays where it is, so the ring keeps its memory.
  if (options.elastic && engine->streamer_ && !device.deferred()) engine->watch_memory();
  const DeviceCache* cache = engine->experts_ ? engine->experts_->cache() : nullptr;
  engine->filling_ = cache != nullptr && cache->fits_all();
  if (engine->filling_) engine->filler_ = std::thread([raw = engine.get()] { raw->fill_device(); });
  log::debug("{}: {} layers, {} records, {}", engine->files_.path.string(), spec.layers.size(),
             plan.records, engine->stream_description());
  return engine;
}

Engine::~Engine() {
  stop_warming();
  watch_.reset();
  if (remember_claims_ && streamer_) write_claims();
}

Result<std::unique_ptr<DeviceCache>> Engine::open_device_cache(const EngineOptions& options,
                                                               Device& device) const {
  if (device.shares_memory()) return std::unique_ptr<DeviceCache>();
  const uint64_t whole =
      std::min(options.device_memory_bytes.value_or(device.memory_bytes()), device.memory_bytes());
  const uint64_t taken = device_bytes_besides_records(plan_);
  SMOE_TRY(const std::vector<uint32_t> slots,
           device_slots(files_.vault, whole - std::min(whole, taken)));
  return DeviceCache::open(files_.vault, slots, options.eviction, device);
}

void Engine::fill_device() {
  constexpr std::chrono::milliseconds kNap{1};
  const auto last = static_cast<uint32_t>(files_.spec.layers.size() - 1);
  const auto enough = [this] { return warmed_enough_.load(std::memory_order_relaxed); };
  while (!scout_->has_layer(last) && !enough()) std::this_thread::sleep_for(kNap);
  bool more = true;
  while (more && !enough()) {
    const Result<bool> filled = fill_some();
    if (filled) {
      more = *filled;
    } else if (filled.error().code != Code::kCancelled) {  // the step's own business
      // A step that needs the record says so as well, and to whom it matters.
      log::warn("{}; the rest is read when it is needed", filled.error().message);
      break;
    }
    std::this_thread::sleep_for(kNap);
  }
  device_full_.store(!more, std::memory_order_relaxed);
  filling_.store(false, std::memory_order_relaxed);
}

Result<bool> Engine::fill_some() {
  constexpr uint32_t kAtOnce = 8;  // a step waits no longer than these take
  const std::lock_guard lock(stepping_);
  return experts_->fill(kAtOnce);
}

void Engine::start_warming() {
  Claims claims(files_.vault);
  const std::filesystem::path path = claims_path(files_.path);
  if (Status read = claims.read(path); !read) {
    if (read.error().code != Code::kNotFound) log::warn("{}; it is not used", read.error().message);
    return;
  }
  warmer_ = std::thread([this, keys = claims.most_wanted(plan_.ring_slots())] { warm(keys); });
}

// The scout comes first: nothing is computed without it.
void Engine::warm(std::span<const ExpertKey> keys) {
  constexpr std::chrono::milliseconds kNap{2};
  const auto enough = [this] { return warmed_enough_.load(std::memory_order_relaxed); };
  const auto last = static_cast<uint32_t>(files_.spec.layers.size() - 1);
  while (!scout_->has_layer(last) && !enough()) std::this_thread::sleep_for(kNap);
  bool begun = false;
  for (bool more = true; more && !enough();) {
    {
      const std::lock_guard lock(stepping_);
      if (!std::exchange(begun, true)) streamer_->warm(keys);
      more = streamer_->tend();
    }
    std::this_thread::sleep_for(kNap);
  }
}

void Engine::stop_warming() {
  warmed_enough_.store(true, std::memory_order_relaxed);
  if (warmer_.joinable()) warmer_.join();
  if (filler_.joinable()) filler_.join();
}

void Engine::write_claims() const {
  Claims claims(files_.vault);
  const std::filesystem::path path = claims_path(files_.path);
  static_cast<void>(claims.read(path));  // none, or damaged: this run is the first
  claims.add([this](ExpertKey key) { return streamer_->lends(key); });
  if (Status written = claims.write(path); !written)
    log::info("{}; what was wanted is not remembered", written.error().message);
}

void Engine::limit_ring(uint64_t bytes) {
  if (!streamer_) return;
  streamer_->limit_ring(bytes);
  const std::unique_lock lock(stepping_, std::try_to_lock);
  if (lock) streamer_->fit_ring();
}

void Engine::watch_memory() {
  uint64_t least = 0;
  for (const RecordClass& size : record_classes(files_.vault)) least += 2 * size.record_bytes;
  watch_ = std::make_unique<MemoryWatch>(
      MemoryWatch::Ring{{std::min(least, plan_.ring_bytes), plan_.ring_bytes},
                        [this] { return streamer_->touched_bytes(); },
                        [this](uint64_t bytes) { limit_ring(bytes); }});
}

void Engine::cancel() {
  cancelled_.store(true, std::memory_order_relaxed);
  if (streamer_) streamer_->cancel();
}

void Engine::clear_cancel() {
  cancelled_.store(false, std::memory_order_relaxed);
  if (streamer_) streamer_->clear_cancel();
}

}  // namespace smoe
