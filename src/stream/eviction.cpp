#include "stream/eviction.h"

#include "stream/index_lists.h"
#include "stream/slot.h"

namespace smoe {
namespace {

class Lru final : public Eviction {
 public:
  explicit Lru(uint32_t slots) : order_(slots, 1) {}

  std::string_view name() const override { return "lru"; }
  void offer(uint32_t slot, ExpertKey) override { order_.append(0, slot); }
  void withdraw(uint32_t slot) override { order_.remove(slot); }
  uint32_t victim(ExpertKey) override { return order_.empty(0) ? kNoSlot : order_.first(0); }

 private:
  IndexLists order_;  // the oldest use first
};

}  // namespace

std::unique_ptr<Eviction> make_lru(uint32_t slots) { return std::make_unique<Lru>(slots); }

}  // namespace smoe
