#include "stream/eviction.h"

#include <numeric>

#include "stream/index_lists.h"
#include "stream/scored_eviction.h"
#include "stream/slot.h"

namespace smoe {
namespace {

// Once the ring is smaller than one token's working set, the cyclic order of the layers makes this
// miss nearly always: what comes next is always what has just gone.
class Lru final : public Eviction {
 public:
  explicit Lru(const RingShape& shape)
      : order_(std::accumulate(shape.slots.begin(), shape.slots.end(), 0U),
               static_cast<uint32_t>(shape.slots.size())) {
    for (uint32_t i = 0; i < shape.slots.size(); ++i)
      class_of_.insert(class_of_.end(), shape.slots[i], i);
  }

  std::string_view name() const override { return "lru"; }
  void visit(const LayerVisit& /*visit*/) override {}
  void offer(uint32_t slot, ExpertKey /*key*/) override { order_.append(class_of_[slot], slot); }
  void withdraw(uint32_t slot) override { order_.remove(slot); }
  uint32_t victim(uint32_t size_class) override {
    return order_.empty(size_class) ? kNoSlot : order_.first(size_class);
  }

 private:
  IndexLists order_;  // a list a class, the oldest use first
  std::vector<uint32_t> class_of_;
};

}  // namespace

std::string_view name_of(EvictionPolicy policy) {
  switch (policy) {
    case EvictionPolicy::kLru:
      return "lru";
    case EvictionPolicy::kRates:
      return "rates";
    case EvictionPolicy::kFitted:
      return "fitted";
  }
  return "";
}

std::unique_ptr<Eviction> make_eviction(EvictionPolicy policy, const RingShape& shape) {
  switch (policy) {
    case EvictionPolicy::kLru:
      break;
    case EvictionPolicy::kRates:
      return make_rates_eviction(shape);
    case EvictionPolicy::kFitted:
      return make_fitted_eviction(shape);
  }
  return std::make_unique<Lru>(shape);
}

}  // namespace smoe
