// The ring: one piece of memory cut into slots, and the book of which record each slot is for.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/aligned.h"
#include "base/result.h"
#include "stream/catalog.h"
#include "stream/eviction.h"
#include "stream/index_lists.h"
#include "stream/slot.h"

namespace smoe {

// The slots of each record size are next to each other. A slot is in one place at a time: free,
// kept for a bet (queued, or resident and unused), offered to the eviction policy, or held (read
// into, demanded or lent), where nothing takes it away.
// Threads: word() and bytes() any, all else the step's own. Cost: no allocation after make().
class Ring {
 public:
  // A slot that was found for a record, and its word just after it was reserved.
  struct Place {
    uint32_t slot = kNoSlot;
    Slot reserved;
  };

  // Fails: kUsage (not one count a class, or fewer than two slots, naming the smallest that works),
  // kNoMemory. Lifetime: `catalog` outlives the ring.
  static Result<std::unique_ptr<Ring>> make(const Catalog& catalog, std::span<const uint32_t> slots,
                                            EvictionPolicy policy = EvictionPolicy::kLru,
                                            uint64_t arrival_bytes = 0);
  // For make(), which has checked the counts and found the memory.
  Ring(const Catalog& catalog, std::span<const uint32_t> slots, EvictionPolicy policy,
       AlignedBuffer memory, uint64_t arrival_bytes);

  uint32_t slots() const { return static_cast<uint32_t>(entries_.size()); }
  std::span<std::byte> memory() const { return memory_.bytes(); }
  // Behind the slots, for reads that do not fill a slot as they are.
  std::span<std::byte> arrival_memory() const { return memory().last(arrival_bytes_); }
  SlotWord& word(uint32_t slot) { return words_[slot]; }
  std::span<std::byte> bytes(uint32_t slot) const;

  // The slot that is kept for a record, whatever its phase; kNoSlot when there is none.
  uint32_t slot_of(uint32_t record) const { return slot_of_[record]; }
  uint32_t record_of(uint32_t slot) const { return entries_[slot].record; }
  // A read of this slot is queued or under way.
  bool in_flight(uint32_t slot) const { return entries_[slot].in_flight; }
  uint32_t in_flight() const { return in_flight_; }
  // It was taken for a bet, and was not demanded since.
  bool is_bet(uint32_t slot) const { return entries_[slot].bet; }
  bool has_free_slot(uint32_t size_class) const { return !lists_.empty(free_list(size_class)); }
  // Bytes of bets that were read and whose slot went to another record before anybody used them.
  // Threads: any.
  uint64_t wasted_bytes() const { return wasted_bytes_.load(std::memory_order_relaxed); }
  uint32_t slots_of(uint32_t size_class) const { return classes_[size_class].slots; }
  // Slots that are not out of use, of one class and of all.
  uint32_t slots_in_use(uint32_t size_class) const { return classes_[size_class].in_use; }
  // Bytes of slots that were written to since they were last out of use. Threads: any.
  uint64_t touched_bytes() const { return touched_bytes_.load(std::memory_order_relaxed); }
  // Threads: any.
  uint32_t slots_in_use() const { return in_use_.load(std::memory_order_relaxed); }
  // Whether visits should bring the router's numbers: there are records that will be given up, and
  // the policy chooses them by those.
  bool wants_router() const { return eviction_->wants_router() && !holds_all(); }
  void visit(const LayerVisit& visit) {
    if (!holds_all()) eviction_->visit(visit);
  }
  // "12 slots of 96.00 KiB, fitted"
  std::string description() const;

  // Reserves a slot and holds it as in flight. First a free one, then the oldest bet that is not
  // being read, then the policy's victim; kNoSlot when the class has none of them.
  Place take_for_demand(uint32_t record);
  // The same for a bet. Bets never own more than half of a class nor its last two slots; of earlier
  // bets only those of an older round give way.
  Place take_for_bet(uint32_t record, uint64_t round);
  // A free slot, for a record that nobody has asked for yet. It counts as a bet, and the one that
  // was placed last is the first to go.
  Place take_to_warm(uint32_t record);
  // Takes over a slot that is held, READY and without lease, for a record that cannot wait.
  Place take_held(uint32_t slot, uint32_t record);

  // Takes a slot out of use: a free one, else the oldest bet that is not being read, else the
  // policy's victim. kNoSlot when there is none of them, or two slots are left. Its bytes mean
  // nothing from then on.
  uint32_t retire(uint32_t size_class);
  // Brings one back. False when none is out of use.
  bool revive(uint32_t size_class);

  // The read ended; the slot stays held.
  void end_flight(uint32_t slot);
  // Out of a bet's or the policy's hands, because it is demanded. True when it was a bet.
  bool hold(uint32_t slot);
  // A bet's record that is resident and that nobody demanded: the first to go.
  void keep_as_bet(uint32_t slot);
  // A held record that nobody needs now.
  void offer(uint32_t slot);
  // A slot whose word is empty again.
  void release(uint32_t slot);
  // Frees the slots of bets that are stale and whose reads nobody has started: those of an older
  // round than `round`, and all of `layer`.
  void drop_bets(uint64_t round, LayerId layer);

 private:
  enum class Where : uint8_t { kFree, kBet, kOffered, kHeld, kRetired };
  struct Entry {
    uint32_t record = 0;  // meaningful unless free
    Where where = Where::kFree;
    bool bet = false;   // taken for a bet and not demanded since
    bool warm = false;  // such a bet, and not for any layer's next visit: it does not grow stale
    bool in_flight = false;
    bool touched = false;
    uint32_t size_class = 0;
    uint64_t round = 0;  // of bets
  };
  struct SizeClass {
    uint64_t record_bytes = 0;
    uint32_t first_slot = 0;
    uint32_t slots = 0;
    uint64_t memory_offset = 0;
    uint32_t bets = 0;    // slots with Entry::bet
    uint32_t in_use = 0;  // slots that are not retired
  };

  // The lists of a class: free slots, bets from the oldest on, and slots that are out of use.
  static constexpr uint32_t kLists = 3;
  static uint32_t free_list(uint32_t size_class) { return kLists * size_class; }
  static uint32_t bet_list(uint32_t size_class) { return kLists * size_class + 1; }
  static uint32_t retired_list(uint32_t size_class) { return kLists * size_class + 2; }
  std::optional<Slot> reserve_word(uint32_t slot, ExpertKey key);
  bool holds_all() const { return slots_in_use() >= slot_of_.size(); }
  bool withdraw_queued(uint32_t slot);
  Place reserve(uint32_t slot, uint32_t record);
  Place take_free(uint32_t size_class, uint32_t record);
  Place take_old_bet(uint32_t size_class, uint32_t record, uint64_t before_round);
  Place take_victim(uint32_t size_class, uint32_t record);
  uint32_t resident_to_retire(uint32_t size_class) const;
  void leave(uint32_t slot);

  const Catalog& catalog_;
  AlignedBuffer memory_;
  uint64_t arrival_bytes_ = 0;
  std::unique_ptr<SlotWord[]> words_;  // NOLINT(modernize-avoid-c-arrays): atomics do not move
  std::vector<Entry> entries_;         // by slot
  std::vector<uint32_t> slot_of_;      // by record
  std::vector<SizeClass> classes_;
  IndexLists lists_;
  std::unique_ptr<Eviction> eviction_;
  uint32_t in_flight_ = 0;
  // Relaxed: others look at them, and order nothing by them.
  std::atomic<uint64_t> wasted_bytes_{0};
  std::atomic<uint64_t> touched_bytes_{0};
  std::atomic<uint32_t> in_use_{0};
};

}  // namespace smoe
