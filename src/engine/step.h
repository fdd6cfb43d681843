// One pass of a batch of tokens through all layers: the only way through the model.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/result.h"
#include "compute/device.h"
#include "engine/batch.h"
#include "engine/experts.h"
#include "engine/kv_cache.h"
#include "engine/scout.h"
#include "engine/scratch.h"
#include "engine/step_stats.h"
#include "model/spec.h"

namespace smoe {

class Step {
 public:
  struct Parts {
    const ModelSpec* spec = nullptr;
    Device* device = nullptr;
    Scout* scout = nullptr;
    KvCache* kv = nullptr;
    Experts* experts = nullptr;
    Scratch* scratch = nullptr;
    const std::atomic<bool>* cancelled = nullptr;  // looked at between layers
    bool bets = false;
    Importance* importance = nullptr;  // hears of every matrix's input
    bool observed = false;             // every demand must be seen on the host
  };
  explicit Step(const Parts& parts) : parts_(parts) {}

  // The batch is not longer than the scratch; the KV cache has pages for every position; a
  // sequence's tokens stand in ascending order of position. Fails: kIo, kCorrupt (a record or the
  // scout), kNumeric (naming layer and expert), kCancelled, and as Device::read. The KV cache then
  // holds nothing of use at the batch's positions. Cost: no allocation. Threads: one at a time.
  Status run(Batch batch, StepSink& sink);

  const StepStats& stats() const { return stats_; }

 private:
  Status forward(Batch batch, StepSink& sink);
  Status find_numeric_fault(Batch batch, Error found);
  void load_batch(Batch batch);
  void set_angles(const RopeSpec& rope, Batch batch);
  void attention(uint32_t layer);
  Status feed_forward(uint32_t layer);
  Status routed(uint32_t layer);
  Status route_on_host(uint32_t layer);
  Status route_on_device(uint32_t layer);
  bool run_on_device(uint32_t layer);
  Status shared_expert(uint32_t layer);
  void bet_on(uint32_t layer);
  Status head(Batch batch, StepSink& sink);
  void listen(Role role, uint32_t layer, const Rows& in);
  void listen(const Importance::Gated& block, const Rows& in);
  Status show_hidden(uint32_t layer, const Rows& rows, StepSink& sink);
  Status check_rows(uint32_t layer, const char* part, const Rows& rows);

  Rows rows(const Rows& whole, uint32_t width) const {
    return {whole.view, tokens_, width, whole.stride};
  }

  Parts parts_;
  StepStats stats_;
  uint32_t tokens_ = 0;             // of the current batch
  RopeSpec rope_;                   // that the angles in scratch are for
  bool checked_ = false;            // a repetition that looks for the source of a non-finite number
  std::vector<float> wide_values_;  // [tokens, width], used only to show or check hidden states
};

}  // namespace smoe
