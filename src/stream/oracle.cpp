#include "stream/oracle.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <map>
#include <memory>

#include "base/check.h"
#include "stream/eviction.h"
#include "stream/slot.h"

namespace smoe {
namespace {

constexpr size_t kNever = std::numeric_limits<size_t>::max();
constexpr uint64_t kLeastSlots = 2;

// Experts of all layers, numbered.
class Numbering {
 public:
  explicit Numbering(const Trace& trace) {
    std::map<uint64_t, uint32_t> class_of_bytes;
    for (const TraceLayer& layer : trace.layers()) class_of_bytes.emplace(layer.record_bytes, 0);
    for (auto& [bytes, size_class] : class_of_bytes) {
      size_class = static_cast<uint32_t>(record_bytes_.size());
      record_bytes_.push_back(bytes);
    }
    records_.resize(record_bytes_.size());
    for (const TraceLayer& layer : trace.layers()) {
      const auto id = static_cast<size_t>(layer.layer);
      if (first_.size() <= id) first_.resize(id + 1);
      first_[id] = static_cast<uint32_t>(class_of_.size());
      const uint32_t size_class = class_of_bytes[layer.record_bytes];
      class_of_.resize(class_of_.size() + layer.experts, size_class);
      records_[size_class] += layer.experts;
      shape_.layers.push_back({layer.layer, layer.experts});
    }
  }

  uint32_t number(ExpertKey key) const {
    return first_[static_cast<size_t>(key.layer)] + static_cast<uint32_t>(key.expert);
  }
  size_t experts() const { return class_of_.size(); }
  uint32_t class_of(uint32_t number) const { return class_of_[number]; }

  RingShape shape(double share) const {
    RingShape shape = shape_;
    for (const uint64_t records : records_) {
      const auto wanted = static_cast<uint64_t>(std::llround(share * static_cast<double>(records)));
      shape.slots.push_back(
          static_cast<uint32_t>(std::clamp(wanted, kLeastSlots, std::max(records, kLeastSlots))));
    }
    return shape;
  }
  uint64_t bytes(const RingShape& shape) const {
    uint64_t bytes = 0;
    for (size_t i = 0; i < shape.slots.size(); ++i) bytes += shape.slots[i] * record_bytes_[i];
    return bytes;
  }

 private:
  std::vector<uint32_t> first_;         // by LayerId
  std::vector<uint32_t> class_of_;      // by number
  std::vector<uint64_t> record_bytes_;  // by class
  std::vector<uint64_t> records_;       // by class
  RingShape shape_;
};

// When each expert is demanded.
class Future {
 public:
  Future(const Trace& trace, const Numbering& numbering) : uses_(numbering.experts()) {
    Trace::Cursor cursor(trace);
    for (size_t i = 0; i < trace.visits(); ++i)
      for (const ExpertKey key : cursor.visit(i).demanded)
        uses_[numbering.number(key)].push_back(i);
  }
  size_t next_after(uint32_t number, size_t visit) const {
    const std::vector<size_t>& uses = uses_[number];
    const auto next = std::upper_bound(uses.begin(), uses.end(), visit);
    return next == uses.end() ? kNever : *next;
  }

 private:
  std::vector<std::vector<size_t>> uses_;  // by number
};

// Belady 1966: the record that is wanted again last. It reads the future, so it is no policy for a
// ring.
class Belady final : public Eviction {
 public:
  Belady(const RingShape& shape, const Numbering& numbering, const Future& future)
      : numbering_(numbering), future_(future) {
    for (uint32_t i = 0; i < shape.slots.size(); ++i)
      slots_.insert(slots_.end(), shape.slots[i], {i, false, 0});
  }
  std::string_view name() const override { return "belady"; }
  void visit(const LayerVisit& /*visit*/) override { ++visits_; }
  void offer(uint32_t slot, ExpertKey key) override {
    slots_[slot].offered = true;
    slots_[slot].next = future_.next_after(numbering_.number(key), visits_ - 1);
  }
  void withdraw(uint32_t slot) override { slots_[slot].offered = false; }
  uint32_t victim(uint32_t size_class) override {
    uint32_t best = kNoSlot;
    for (uint32_t slot = 0; slot < slots_.size(); ++slot) {
      const Candidate& one = slots_[slot];
      if (!one.offered || one.size_class != size_class) continue;
      if (best == kNoSlot || one.next > slots_[best].next) best = slot;
    }
    return best;
  }

 private:
  struct Candidate {
    uint32_t size_class = 0;
    bool offered = false;
    size_t next = 0;
  };
  const Numbering& numbering_;
  const Future& future_;
  std::vector<Candidate> slots_;
  size_t visits_ = 0;
};

// A ring without bytes.
class SimulatedRing {
 public:
  SimulatedRing(const RingShape& shape, const Numbering& numbering,
                std::unique_ptr<Eviction> eviction, uint32_t in_flight)
      : numbering_(numbering),
        eviction_(std::move(eviction)),
        in_flight_(in_flight),
        slot_of_(numbering.experts(), kNoSlot),
        free_(shape.slots.size()) {
    for (uint32_t i = 0; i < shape.slots.size(); ++i)
      for (uint32_t n = 0; n < shape.slots[i]; ++n) {
        free_[i].push_back(static_cast<uint32_t>(keys_.size()));
        keys_.push_back(kNoKey);
      }
  }

  void visit(const LayerVisit& visit, bool counted) {
    held_.clear();
    missing_.clear();
    for (const ExpertKey key : visit.demanded) {
      const uint32_t slot = slot_of_[numbering_.number(key)];
      if (slot == kNoSlot) {
        missing_.push_back(key);
      } else {
        eviction_->withdraw(slot);
        held_.push_back(slot);
      }
    }
    if (counted) hits_ += held_.size();
    eviction_->visit(visit);
    const size_t residents = held_.size();
    for (size_t i = 0; i < missing_.size(); ++i) {
      if (i == in_flight_) let_go(residents);
      if (i >= in_flight_) let_go(1);
      place(missing_[i]);
    }
    let_go(held_.size());
  }

  uint64_t hits() const { return hits_; }

 private:
  void let_go(size_t count) {
    for (; count > 0 && !held_.empty(); --count) {
      eviction_->offer(held_.front(), keys_[held_.front()]);
      held_.pop_front();
    }
  }

  // A ring with less slots than are held gives its oldest away early, as the engine then computes
  // before it reads on.
  void place(ExpertKey key) {
    const uint32_t size_class = numbering_.class_of(numbering_.number(key));
    uint32_t slot = kNoSlot;
    if (!free_[size_class].empty()) {
      slot = free_[size_class].back();
      free_[size_class].pop_back();
    } else {
      for (slot = eviction_->victim(size_class); slot == kNoSlot;
           slot = eviction_->victim(size_class))
        let_go(1);
      eviction_->withdraw(slot);
      slot_of_[numbering_.number(keys_[slot])] = kNoSlot;
    }
    keys_[slot] = key;
    slot_of_[numbering_.number(key)] = slot;
    held_.push_back(slot);
  }

  const Numbering& numbering_;
  std::unique_ptr<Eviction> eviction_;
  const uint32_t in_flight_;
  std::vector<uint32_t> slot_of_;            // by number
  std::vector<std::vector<uint32_t>> free_;  // by class
  std::vector<ExpertKey> keys_;              // by slot
  std::deque<uint32_t> held_;                // slots, oldest first
  std::vector<ExpertKey> missing_;
  uint64_t hits_ = 0;
};

constexpr EvictionPolicy kPolicies[] = {EvictionPolicy::kLru, EvictionPolicy::kRates,
                                        EvictionPolicy::kFitted};

}  // namespace

double OracleTable::hit_rate(size_t row, std::string_view policy) const {
  const auto found = std::ranges::find(policies, policy);
  SMOE_CHECK(found != policies.end());
  return rows[row].hit_rates[static_cast<size_t>(found - policies.begin())];
}

OracleTable simulate(const Trace& trace, std::span<const double> shares,
                     const OracleOptions& options) {
  const Numbering numbering(trace);
  const Future future(trace, numbering);
  OracleTable table;
  for (const EvictionPolicy policy : kPolicies) table.policies.emplace_back(name_of(policy));
  table.policies.emplace_back("belady");

  std::vector<SimulatedRing> rings;
  for (const double share : shares) {
    const RingShape shape = numbering.shape(share);
    uint64_t slots = 0;
    for (const uint32_t count : shape.slots) slots += count;
    table.rows.push_back({share, slots, numbering.bytes(shape), {}});
    for (const EvictionPolicy policy : kPolicies)
      rings.emplace_back(shape, numbering, make_eviction(policy, shape), options.in_flight);
    rings.emplace_back(shape, numbering, std::make_unique<Belady>(shape, numbering, future),
                       options.in_flight);
  }

  Trace::Cursor cursor(trace);
  for (size_t i = 0; i < trace.visits(); ++i) {
    const LayerVisit visit = cursor.visit(i);
    const bool counted = i >= options.skipped_visits;
    if (counted) table.demands += visit.demanded.size();
    for (SimulatedRing& ring : rings) ring.visit(visit, counted);
  }
  const double demands = static_cast<double>(std::max<uint64_t>(1, table.demands));
  for (size_t i = 0; i < rings.size(); ++i)
    table.rows[i / table.policies.size()].hit_rates.push_back(static_cast<double>(rings[i].hits()) /
                                                              demands);
  return table;
}

}  // namespace smoe
