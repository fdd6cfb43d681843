// The records that the current step has asked for and not got yet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "stream/catalog.h"
#include "stream/index_lists.h"

namespace smoe {

inline constexpr uint32_t kNoRecord = 0xffffffff;

// A demanded record waits for a slot, then for its read, then to be lent. Threads: the step's own.
// Cost: no allocation after construction; O(1) unless said otherwise.
class Demands {
 public:
  enum class State : uint8_t {
    kNone,     // not demanded
    kWaiting,  // for a slot
    kReading,  // its read is queued or under way
    kReady,    // to be lent
    kFailed,   // its read has failed
  };

  explicit Demands(const Catalog& catalog);

  // Appends a record that was not demanded: first kReading; one of the calls below says more.
  void add(uint32_t record);
  void set_reading(uint32_t record) { move(record, State::kReading); }
  void set_ready(uint32_t record);
  void set_failed(uint32_t record) { move(record, State::kFailed); }
  // Queued among those that wait for a slot of its class, in the order of demand. Cost: O(1) for
  // the latest one demanded.
  void set_waiting(uint32_t record);
  // Lent, or forgotten.
  void remove(uint32_t record);

  State state(uint32_t record) const { return states_[record]; }
  size_t outstanding() const { return outstanding_; }
  size_t waiting() const { return waiting_; }
  size_t reading() const { return reading_; }
  // kNoRecord where there is none.
  uint32_t first() const { return order_.empty(0) ? kNoRecord : order_.first(0); }
  uint32_t first_ready() const;
  uint32_t first_waiting(uint32_t size_class) const;
  // Whether at most `count` - 1 outstanding ones were demanded before it. Cost: O(count).
  bool among_first(uint32_t record, size_t count) const;
  // The one demanded just before `record`, or the last of all for kNoRecord.
  uint32_t before(uint32_t record) const;

 private:
  void move(uint32_t record, State state);

  const Catalog& catalog_;
  IndexLists order_;   // all outstanding, as they were demanded
  IndexLists queues_;  // list 0: ready, as they became so; then those that wait, a list a class
  std::vector<State> states_;
  std::vector<uint64_t> sequence_;  // of demand
  uint64_t last_sequence_ = 0;
  size_t outstanding_ = 0;
  size_t waiting_ = 0;
  size_t reading_ = 0;
};

}  // namespace smoe
