// A model, opened: the scout resident, the ring waiting for experts, everything allocated.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "compute/device.h"
#include "engine/batch.h"
#include "engine/experts.h"
#include "engine/importance.h"
#include "engine/kv_cache.h"
#include "engine/memory_watch.h"
#include "engine/scout.h"
#include "engine/scratch.h"
#include "engine/step.h"
#include "formats/scout_file.h"
#include "formats/vault_file.h"
#include "model/memory_plan.h"
#include "model/model_files.h"
#include "model/spec.h"
#include "stream/streamer.h"

namespace smoe {

struct EngineOptions {
  std::optional<uint64_t> memory_bytes;  // default: what the machine and its cgroups leave
  std::optional<uint32_t> ring_slots;    // default: all that the budget allows
  std::optional<uint32_t> context;       // default: the model's, at most kDefaultContext
  std::optional<uint32_t> prompt_chunk;  // default: the longest that the budget allows
  uint32_t sequences = 1;                // that may be open at once
  // Positions of the KV cache for all sequences and kept prefixes; default: context * sequences.
  std::optional<uint64_t> kv_positions;
  KvType kv = KvType::kF32;  // what keys and values are rounded to
  // Of the device's own memory, where it has any; default: most of it.
  std::optional<uint64_t> device_memory_bytes;
  bool bets = false;
  // Gives memory of the ring back while the machine or a group is short of it, and takes it again
  // later. Changes no result.
  bool elastic = false;
  Verify verify = Verify::kFirst;
  IoEngine io = IoEngine::kAuto;
  EvictionPolicy eviction = EvictionPolicy::kFitted;
  unsigned readers = 4;  // reads under way at once
  bool direct = true;
  // A step fails when it has waited so long without a record arriving; 0: it waits until cancel().
  uint64_t read_timeout_ns = 0;
  // Reads what earlier runs wanted most (claims_path()) while there is nothing else to read; and
  // writes it down at the end. Neither changes a result, and where it fails nothing else does.
  bool warm = false;
  bool remember_claims = false;
  std::filesystem::path mirror;  // a copy of the model folder, perhaps on another drive; or none
  Importance* importance = nullptr;   // listens to each step; outlives the engine
  VisitObserver* observer = nullptr;  // sees what each step demands; outlives the engine
};

inline constexpr uint32_t kDefaultContext = 4096;

// What a model takes of memory, whether or not it has been written yet.
struct ModelSizes {
  uint64_t scout_bytes = 0;
  std::vector<RecordSize> records;  // ascending by record_bytes
  uint64_t tokenizer_bytes = 0;     // of tokenizer.json
  uint64_t arrival_bytes = 0;       // buffers for rows that become tiles as they are read
};

// Where what was wanted is kept: "claims.bin" in the model folder, or beside a GGUF file.
std::filesystem::path claims_path(const std::filesystem::path& model);

// `readers`: reads under way at once (EngineOptions).
ModelSizes sizes_of(const ModelFiles& files, unsigned readers);

class Engine {
 public:
  // `device` outlives the engine. The scout is still being read when this returns.
  // Fails: as ModelFiles::open; kNoMemory with the smallest budget that works; kUsage.
  static Result<std::unique_ptr<Engine>> open(ModelFiles files, const EngineOptions& options,
                                              Device& device);
  static Result<std::unique_ptr<Engine>> open(const std::filesystem::path& folder,
                                              const EngineOptions& options, Device& device);
  // What open() would plan, without loading anything. Fails: kNoMemory, kUsage.
  static Result<MemoryPlan> plan(const ModelSpec& spec, const ModelSizes& sizes,
                                 const EngineOptions& options, const Device& device);
  ~Engine();

  const ModelSpec& spec() const { return files_.spec; }
  const MemoryPlan& plan() const { return plan_; }
  uint64_t vault_bytes() const { return files_.vault_bytes(); }
  uint64_t fingerprint() const { return files_.scout.info().fingerprint; }
  uint32_t prompt_chunk() const { return plan_.prompt_chunk; }
  uint32_t context() const { return plan_.context; }
  KvCache& kv() { return *kv_; }
  const KvCache& kv() const { return *kv_; }

  // See Step::run. Threads: one at a time.
  Status step(Batch batch, StepSink& sink) {
    const std::lock_guard lock(stepping_);
    return step_->run(batch, sink);
  }

  // See Streamer::limit_ring: at once when no step runs, else during the step. Threads: any.
  void limit_ring(uint64_t bytes);

  // Makes the running step and every later one fail with kCancelled until clear_cancel(). Threads:
  // any.
  void cancel();
  void clear_cancel();

  // Records are brought to a device that has room for all of them in its own memory, between steps
  // and for as long as there are no steps. Threads: any.
  bool filling_device() const { return filling_.load(std::memory_order_relaxed); }
  // It has all of them: from then on nothing is read. Threads: any.
  bool device_has_all() const { return device_full_.load(std::memory_order_relaxed); }

  // Records in the device's own memory and how many there is room for; none without such memory.
  // Threads: any.
  struct DeviceRecords {
    uint32_t there = 0;
    uint32_t slots = 0;
  };
  std::optional<DeviceRecords> device_records() const {
    if (!experts_ || experts_->cache() == nullptr) return {};
    return DeviceRecords{experts_->cache()->records(), experts_->cache()->slots()};
  }

  const Scout& scout() const { return *scout_; }
  StepStats step_stats() const { return step_->stats(); }
  StreamStats stream_stats() const { return streamer_ ? streamer_->stats() : StreamStats{}; }
  // See Streamer::look; nothing for a model without experts. Threads: any.
  void look(FunctionRef<void(const RecordSight& sight)> see) const {
    if (streamer_) streamer_->look(see);
  }
  std::string stream_description() const { return streamer_ ? streamer_->description() : ""; }

 private:
  Engine() = default;
  void watch_memory();
  // What of the device's own memory is left for records, as slots of each size; none for a device
  // that shares the host's. Fails: kNoMemory.
  Result<std::unique_ptr<DeviceCache>> open_device_cache(const EngineOptions& options,
                                                         Device& device) const;
  void fill_device();
  Result<bool> fill_some();
  void start_warming();
  void warm(std::span<const ExpertKey> keys);
  void stop_warming();
  void write_claims() const;
  static Result<std::unique_ptr<Engine>> open_parts(ModelFiles files, const EngineOptions& wishes,
                                                    Device& device);

  ModelFiles files_;
  MemoryPlan plan_;
  std::atomic<bool> cancelled_{false};
  std::unique_ptr<Streamer> streamer_;  // none for a model without experts
  std::unique_ptr<Scout> scout_;
  std::optional<KvCache> kv_;
  Scratch scratch_;
  std::unique_ptr<LocalExperts> experts_;
  std::unique_ptr<Step> step_;
  bool remember_claims_ = false;
  std::thread warmer_;  // looks after the reads until the ring is warm
  std::thread filler_;  // brings what the device has room for, between steps
  std::atomic<bool> warmed_enough_{false};
  std::atomic<bool> filling_{false};
  std::atomic<bool> device_full_{false};
  std::mutex stepping_;                 // held while a step runs: the ring is the step's own
  std::unique_ptr<MemoryWatch> watch_;  // last, so that it ends first
};

}  // namespace smoe
