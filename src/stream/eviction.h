// Which record to give up when a slot is needed.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "stream/expert_key.h"
#include "stream/layer_visit.h"

namespace smoe {

enum class EvictionPolicy : uint8_t {
  kLru,     // least recently used, the discipline of the original S-MoE
  kRates,   // least often used at three time scales, against the distance of its layer
  kFitted,  // least likely wanted at its layer's next visit, against that distance
};

std::string_view name_of(EvictionPolicy policy);

// Who competes for which slots.
struct RingShape {
  struct Layer {
    LayerId layer{};
    uint32_t experts = 0;
  };
  std::vector<Layer> layers;    // in the order in which a step visits them
  std::vector<uint32_t> slots;  // of each record size; slots are numbered size by size
};

// Chooses among the slots that are offered: those whose record has been computed (or whose demand
// was abandoned) and that nobody reads. Free slots and unused bets go before any of them, whatever
// the policy. Threads: the step's own. Cost: no allocation.
class Eviction {
 public:
  virtual ~Eviction() = default;
  virtual std::string_view name() const = 0;
  // Whether visits should bring the router's numbers.
  virtual bool wants_router() const { return false; }

  // A step has routed a layer and is about to demand records of it.
  virtual void visit(const LayerVisit& visit) = 0;
  // `slot`, which holds `key`, may be given up from now on. It was used just now.
  virtual void offer(uint32_t slot, ExpertKey key) = 0;
  // `slot` is demanded again, or was given up.
  virtual void withdraw(uint32_t slot) = 0;
  // The offered slot of this record size to give up, which stays offered; kNoSlot when none is.
  virtual uint32_t victim(uint32_t size_class) = 0;
};

std::unique_ptr<Eviction> make_eviction(EvictionPolicy policy, const RingShape& shape);

}  // namespace smoe
