// One event of /live: the state of every expert, and what changed since the last event.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "server/fleet.h"

namespace smoe::server {

// Threads: one.
class LiveEvents {
 public:
  // "event: live\ndata: {…}\n\n"; without a model it says only that there is none.
  std::string next(const ModelLease& model);
  // Nobody looks now: the next event has nothing to compare with.
  void forget() { last_ = {}; }

 private:
  struct Sample {
    std::string model;
    uint64_t at_ns = 0;
    StreamStats stream;
    StepStats steps;
  };
  Sample last_;
  std::vector<uint8_t> states_;
  std::vector<uint32_t> lends_;  // of each expert, when it was last seen
};

}  // namespace smoe::server
