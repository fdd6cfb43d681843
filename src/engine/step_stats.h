// What the steps so far did and where their time went.
#pragma once

#include <cstdint>

namespace smoe {

struct StepStats {
  uint64_t steps = 0;
  uint64_t tokens = 0;
  uint64_t expert_rows = 0;   // token-expert pairs computed
  uint64_t unions = 0;        // distinct experts of each layer and step, summed
  uint64_t expert_bytes = 0;  // their records
  uint64_t attention_ns = 0;  // norm, projections, attention
  uint64_t routing_ns = 0;    // router, choice, demands, bets
  uint64_t ffn_ns = 0;        // shared experts, dense layers, routed experts with their waits
  uint64_t head_ns = 0;
};

}  // namespace smoe
