#include "stream/ring.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "base/units.h"

namespace smoe {
namespace {

constexpr uint32_t kMinSlots = 2;  // one is computed while the other is read

Status check_slots(const Catalog& catalog, std::span<const uint32_t> slots) {
  const std::span<const RecordClass> classes = catalog.classes();
  if (slots.size() != classes.size())
    return Error{Code::kUsage, "the vault has records of " + std::to_string(classes.size()) +
                                   " sizes, slots were given for " + std::to_string(slots.size())};
  for (size_t i = 0; i < slots.size(); ++i) {
    const uint64_t bytes = classes[i].record_bytes;
    if (slots[i] < kMinSlots)
      return Error{Code::kUsage, "the ring needs at least 2 slots of " + format_bytes(bytes) +
                                     " each (" + format_bytes(kMinSlots * bytes) + "), " +
                                     std::to_string(slots[i]) + " given"};
  }
  return {};
}

RingShape shape_of(const Catalog& catalog, std::span<const uint32_t> slots) {
  RingShape shape;
  shape.slots.assign(slots.begin(), slots.end());
  for (uint32_t record = 0; record < catalog.records(); ++record) {
    const LayerId layer = catalog.key(record).layer;
    if (shape.layers.empty() || shape.layers.back().layer != layer)
      shape.layers.push_back({layer, 0});
    ++shape.layers.back().experts;
  }
  std::ranges::sort(shape.layers, {}, &RingShape::Layer::layer);
  return shape;
}

}  // namespace

Result<std::unique_ptr<Ring>> Ring::make(const Catalog& catalog, std::span<const uint32_t> slots,
                                         EvictionPolicy policy, uint64_t arrival_bytes) {
  SMOE_DO(check_slots(catalog, slots));
  uint64_t total_slots = 0;
  uint64_t total_bytes = 0;
  for (size_t i = 0; i < slots.size(); ++i) {
    const auto bytes = checked_mul(slots[i], catalog.classes()[i].record_bytes);
    const auto sum = bytes ? checked_add(total_bytes, *bytes) : std::nullopt;
    total_slots += slots[i];
    if (!sum || total_slots >= kNoSlot)
      return Error{Code::kNoMemory,
                   "a ring of " + std::to_string(total_slots) + " slots is larger than any memory"};
    total_bytes = *sum;
  }
  SMOE_TRY(AlignedBuffer memory, AlignedBuffer::allocate(total_bytes + arrival_bytes));
  return std::make_unique<Ring>(catalog, slots, policy, std::move(memory), arrival_bytes);
}

Ring::Ring(const Catalog& catalog, std::span<const uint32_t> slots, EvictionPolicy policy,
           AlignedBuffer memory, uint64_t arrival_bytes)
    : catalog_(catalog),
      memory_(std::move(memory)),
      arrival_bytes_(arrival_bytes),
      entries_(std::accumulate(slots.begin(), slots.end(), size_t{0})),
      slot_of_(catalog.records(), kNoSlot),
      lists_(static_cast<uint32_t>(entries_.size()), kLists * static_cast<uint32_t>(slots.size())),
      eviction_(make_eviction(policy, shape_of(catalog, slots))) {
  words_ = std::make_unique<SlotWord[]>(entries_.size());
  uint32_t slot = 0;
  uint64_t offset = 0;
  for (uint32_t i = 0; i < slots.size(); ++i) {
    const uint64_t bytes = catalog.classes()[i].record_bytes;
    classes_.push_back({bytes, slot, slots[i], offset, 0, slots[i]});
    for (const uint32_t end = slot + slots[i]; slot < end; ++slot) {
      entries_[slot].size_class = i;
      lists_.append(free_list(i), slot);
    }
    offset += slots[i] * bytes;
  }
  in_use_.store(static_cast<uint32_t>(entries_.size()), std::memory_order_relaxed);
}

std::span<std::byte> Ring::bytes(uint32_t slot) const {
  const SizeClass& own = classes_[entries_[slot].size_class];
  const uint64_t offset = own.memory_offset + (slot - own.first_slot) * own.record_bytes;
  return memory_.bytes().subspan(offset, own.record_bytes);
}

std::string Ring::description() const {
  std::string text;
  for (const SizeClass& one : classes_)
    text += std::to_string(one.slots) + " slots of " + format_bytes(one.record_bytes) + ", ";
  return text + std::string(eviction_->name());
}

// A slot in flight can only be had while its read waits in a queue. Once a reader has begun, the
// slot is the reader's until its completion has been heard of: the word alone does not tell,
// because it says READY, or EMPTY after a failure, before the completion has arrived.
std::optional<Slot> Ring::reserve_word(uint32_t slot, ExpertKey key) {
  if (!entries_[slot].in_flight) return words_[slot].apply(Event::kReserve, key);
  const Slot now = words_[slot].load();
  if (now.phase != Phase::kEmpty || now.key != catalog_.key(entries_[slot].record)) return {};
  return words_[slot].apply_to(now, Event::kReserve, key);
}

// Empties the word of a slot whose read waits in a queue. False when the read has begun.
bool Ring::withdraw_queued(uint32_t slot) {
  const Slot now = words_[slot].load();
  if (now.phase != Phase::kEmpty || now.key != catalog_.key(entries_[slot].record)) return false;
  return words_[slot].apply_to(now, Event::kEvict).has_value();
}

Ring::Place Ring::reserve(uint32_t slot, uint32_t record) {
  const std::optional<Slot> reserved = reserve_word(slot, catalog_.key(record));
  if (!reserved) return {};
  Entry& entry = entries_[slot];
  if (entry.bet && !entry.in_flight)
    wasted_bytes_.fetch_add(bytes(slot).size(), std::memory_order_relaxed);
  leave(slot);
  entry.record = record;
  entry.in_flight = true;
  if (!std::exchange(entry.touched, true))
    touched_bytes_.fetch_add(bytes(slot).size(), std::memory_order_relaxed);
  slot_of_[record] = slot;
  ++in_flight_;
  return {slot, *reserved};
}

Ring::Place Ring::take_free(uint32_t size_class, uint32_t record) {
  const uint32_t list = free_list(size_class);
  return lists_.empty(list) ? Place{} : reserve(lists_.first(list), record);
}

Ring::Place Ring::take_old_bet(uint32_t size_class, uint32_t record, uint64_t before_round) {
  const uint32_t list = bet_list(size_class);
  while (!lists_.empty(list)) {
    const uint32_t slot = lists_.first(list);
    if (entries_[slot].round >= before_round) return {};
    if (const Place place = reserve(slot, record); place.slot != kNoSlot) return place;
    lists_.remove(slot);  // its read has started meanwhile; it comes back when it is resident
    entries_[slot].where = Where::kHeld;
  }
  return {};
}

Ring::Place Ring::take_victim(uint32_t size_class, uint32_t record) {
  const uint32_t slot = eviction_->victim(size_class);
  if (slot == kNoSlot) return {};
  const Place place = reserve(slot, record);
  SMOE_CHECK(place.slot != kNoSlot);  // an offered slot is resident and has no lease
  return place;
}

Ring::Place Ring::take_for_demand(uint32_t record) {
  const uint32_t size_class = catalog_.size_class(record);
  Place place = take_free(size_class, record);
  if (place.slot == kNoSlot) place = take_old_bet(size_class, record, UINT64_MAX);
  if (place.slot == kNoSlot) place = take_victim(size_class, record);
  return place;
}

Ring::Place Ring::take_for_bet(uint32_t record, uint64_t round) {
  const uint32_t size_class = catalog_.size_class(record);
  SizeClass& own = classes_[size_class];
  const uint32_t most = std::min(own.in_use / 2, own.in_use - kMinSlots);
  Place place;
  if (own.bets < most) {
    place = take_free(size_class, record);
    if (place.slot == kNoSlot) place = take_old_bet(size_class, record, round);
    if (place.slot == kNoSlot) place = take_victim(size_class, record);
  } else {
    place = take_old_bet(size_class, record, round);
  }
  if (place.slot == kNoSlot) return place;
  Entry& entry = entries_[place.slot];
  entry.bet = true;
  entry.round = round;
  entry.where = Where::kBet;
  lists_.append(bet_list(size_class), place.slot);
  ++own.bets;
  return place;
}

Ring::Place Ring::take_to_warm(uint32_t record) {
  const uint32_t size_class = catalog_.size_class(record);
  const Place place = take_free(size_class, record);
  if (place.slot == kNoSlot) return place;
  Entry& entry = entries_[place.slot];
  entry.bet = true;
  entry.warm = true;
  entry.round = 0;
  entry.where = Where::kBet;
  lists_.insert_after(lists_.end(bet_list(size_class)), place.slot);
  ++classes_[size_class].bets;
  return place;
}

Ring::Place Ring::take_held(uint32_t slot, uint32_t record) {
  const Place place = reserve(slot, record);
  SMOE_CHECK(place.slot != kNoSlot);
  return place;
}

// An offered slot or a bet whose read is neither queued nor under way.
uint32_t Ring::resident_to_retire(uint32_t size_class) const {
  const uint32_t end = lists_.end(bet_list(size_class));
  for (uint32_t slot = lists_.first(bet_list(size_class)); slot != end; slot = lists_.next(slot))
    if (!entries_[slot].in_flight) return slot;
  return eviction_->victim(size_class);
}

uint32_t Ring::retire(uint32_t size_class) {
  SizeClass& own = classes_[size_class];
  if (own.in_use <= kMinSlots) return kNoSlot;
  uint32_t slot = kNoSlot;
  if (!lists_.empty(free_list(size_class))) {
    slot = lists_.last(free_list(size_class));  // the first ones are the next to be used
    lists_.remove(slot);
  } else {
    slot = resident_to_retire(size_class);
    if (slot == kNoSlot) return kNoSlot;
    SMOE_CHECK(words_[slot].apply(Event::kEvict, catalog_.key(entries_[slot].record)));
    if (entries_[slot].bet) wasted_bytes_.fetch_add(bytes(slot).size(), std::memory_order_relaxed);
    leave(slot);
  }
  Entry& entry = entries_[slot];
  entry.where = Where::kRetired;
  lists_.append(retired_list(size_class), slot);
  if (std::exchange(entry.touched, false))
    touched_bytes_.fetch_sub(bytes(slot).size(), std::memory_order_relaxed);
  --own.in_use;
  in_use_.fetch_sub(1, std::memory_order_relaxed);
  return slot;
}

bool Ring::revive(uint32_t size_class) {
  if (lists_.empty(retired_list(size_class))) return false;
  const uint32_t slot = lists_.last(retired_list(size_class));
  lists_.remove(slot);
  entries_[slot].where = Where::kFree;
  lists_.append(free_list(size_class), slot);
  ++classes_[size_class].in_use;
  in_use_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

void Ring::end_flight(uint32_t slot) {
  Entry& entry = entries_[slot];
  SMOE_CHECK(entry.in_flight);
  entry.in_flight = false;
  --in_flight_;
}

bool Ring::hold(uint32_t slot) {
  Entry& entry = entries_[slot];
  if (entry.where == Where::kOffered) eviction_->withdraw(slot);
  lists_.remove(slot);
  entry.where = Where::kHeld;
  if (!entry.bet) return false;
  entry.bet = false;
  entry.warm = false;
  --classes_[entry.size_class].bets;
  return true;
}

void Ring::keep_as_bet(uint32_t slot) {
  Entry& entry = entries_[slot];
  SMOE_CHECK(entry.bet);
  entry.where = Where::kBet;
  if (!lists_.listed(slot)) lists_.append(bet_list(entry.size_class), slot);
}

void Ring::offer(uint32_t slot) {
  Entry& entry = entries_[slot];
  SMOE_CHECK(entry.where == Where::kHeld);
  entry.where = Where::kOffered;
  eviction_->offer(slot, catalog_.key(entry.record));
}

void Ring::release(uint32_t slot) {
  leave(slot);
  entries_[slot].where = Where::kFree;
  lists_.append(free_list(entries_[slot].size_class), slot);
}

void Ring::drop_bets(uint64_t round, LayerId layer) {
  for (uint32_t i = 0; i < classes_.size(); ++i) {
    const uint32_t end = lists_.end(bet_list(i));
    for (uint32_t slot = lists_.first(bet_list(i)); slot != end;) {
      const uint32_t next = lists_.next(slot);
      const Entry& entry = entries_[slot];
      const bool stale =
          !entry.warm && (entry.round < round || catalog_.key(entry.record).layer == layer);
      if (stale && entry.in_flight && withdraw_queued(slot)) release(slot);
      slot = next;
    }
  }
}

// Ends whatever the slot was for. It is in no list afterwards and no record finds it.
void Ring::leave(uint32_t slot) {
  const Entry& entry = entries_[slot];
  if (entry.where != Where::kFree) slot_of_[entry.record] = kNoSlot;
  if (entry.in_flight) end_flight(slot);
  hold(slot);
}

}  // namespace smoe
