// Which record to give up when a slot is needed.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "stream/expert_key.h"

namespace smoe {

// Chooses among the slots that are offered: those whose record has been computed (or whose demand
// was abandoned) and that nobody reads. Free slots and unused bets go before any of them, whatever
// the policy. Threads: the step's own. Cost: no allocation.
class Eviction {
 public:
  virtual ~Eviction() = default;
  virtual std::string_view name() const = 0;

  // `slot`, which holds `key`, may be given up from now on. It was used just now.
  virtual void offer(uint32_t slot, ExpertKey key) = 0;
  // `slot` is demanded again, or was given up.
  virtual void withdraw(uint32_t slot) = 0;
  // The offered slot to give up for `incoming`, which stays offered; kNoSlot when none is.
  virtual uint32_t victim(ExpertKey incoming) = 0;
};

// Least recently used, the discipline of the original S-MoE. Once the ring is smaller than one
// token's working set, the cyclic order of the layers makes it miss nearly always.
std::unique_ptr<Eviction> make_lru(uint32_t slots);

}  // namespace smoe
