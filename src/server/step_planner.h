// Chooses what the next step computes: a token of each answer, and slices of waiting prompts.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/kv_cache.h"
#include "engine/prefix_tree.h"
#include "server/running_request.h"

namespace smoe::server {

// One request's part of a step.
struct StepShare {
  RunningRequest* request = nullptr;
  uint32_t rows = 0;    // its next tokens
  bool served = false;  // computed
};

// Threads: the scheduler's own.
class StepPlanner {
 public:
  // `chunk`: the longest batch.
  StepPlanner(KvCache& cache, PrefixTree& tree, uint32_t chunk)
      : cache_(cache), tree_(tree), chunk_(chunk) {}

  // `requests`: oldest first. Every answer gets a row; what `slice` tokens leave of the batch (all
  // of it where nobody waits for a token) goes to the oldest prompt, then to the next. The pages
  // for all of it are there when this returns: where they are short, kept prefixes go first, then
  // the youngest request is suspended; the oldest always gets on. A prompt that begins like an
  // older one that is being computed waits for it.
  void plan(std::span<const std::unique_ptr<RunningRequest>> requests, uint32_t slice,
            std::vector<StepShare>& shares);

  uint64_t suspended() const { return suspended_; }  // since the start

 private:
  using Requests = std::span<const std::unique_ptr<RunningRequest>>;
  bool waits_for_older(Requests older, const RunningRequest& request) const;
  bool make_room(Requests younger, const RunningRequest& request, uint32_t rows);

  KvCache& cache_;
  PrefixTree& tree_;
  uint32_t chunk_;
  uint64_t suspended_ = 0;
};

}  // namespace smoe::server
