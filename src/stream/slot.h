// The slot machine: everything that is true of one slot of the ring stands in one 64-bit word, and
// only a compare-exchange changes it. docs/slot-machine.md tells the protocol.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "stream/expert_key.h"

namespace smoe {

inline constexpr ExpertKey kNoKey{LayerId{0xffff}, ExpertId{0xffff}};
inline constexpr uint32_t kNoSlot = 0xffffffff;

enum class Phase : uint8_t {
  kEmpty,     // no usable bytes; its key, if any, is that of the record it is kept for
  kLoading,   // a read writes into it
  kReady,     // holds the record's bytes
  kConsumed,  // kReady, and lent at least once
};

struct Slot {
  static constexpr uint16_t kMaxPins = (1U << 14U) - 1;

  Phase phase = Phase::kEmpty;
  uint16_t pins = 0;        // leases that read the bytes
  uint16_t generation = 0;  // grows whenever the slot changes hands, so that a stale job is seen
  ExpertKey key = kNoKey;
  friend bool operator==(const Slot&, const Slot&) = default;
};

enum class Event : uint8_t {
  kReserve,  // keep the slot for a record, giving up what it holds
  kStart,    // begin to read that record
  kFill,     // the bytes are there
  kFail,     // the read ended without them
  kPin,      // a lease begins
  kUnpin,    // a lease ends
  kEvict,    // empty the slot for nobody
};

constexpr bool holds_record(Phase phase) {
  return phase == Phase::kReady || phase == Phase::kConsumed;
}

// The only place where transitions are written down; nothing when the event is not legal now.
// `key` is the record that the event is about: kReserve's new one, for all others the slot's own.
constexpr std::optional<Slot> after(Slot slot, Event event, ExpertKey key) {
  if (event != Event::kReserve && slot.key != key) return {};  // another expert's bytes
  const auto next_generation = static_cast<uint16_t>(slot.generation + 1);
  switch (event) {
    case Event::kReserve:
      if (slot.phase == Phase::kLoading || slot.pins > 0) return {};
      return Slot{Phase::kEmpty, 0, next_generation, key};
    case Event::kStart:
      if (slot.phase != Phase::kEmpty || slot.key == kNoKey) return {};
      return Slot{Phase::kLoading, 0, slot.generation, key};
    case Event::kFill:
      if (slot.phase != Phase::kLoading) return {};
      return Slot{Phase::kReady, 0, slot.generation, key};
    case Event::kFail:
      if (slot.phase != Phase::kLoading) return {};
      return Slot{Phase::kEmpty, 0, next_generation, kNoKey};
    case Event::kPin:
      if (!holds_record(slot.phase) || slot.pins == Slot::kMaxPins) return {};
      return Slot{Phase::kConsumed, static_cast<uint16_t>(slot.pins + 1), slot.generation, key};
    case Event::kUnpin:
      if (slot.phase != Phase::kConsumed || slot.pins == 0) return {};
      return Slot{Phase::kConsumed, static_cast<uint16_t>(slot.pins - 1), slot.generation, key};
    case Event::kEvict:
      if (slot.phase == Phase::kLoading || slot.pins > 0) return {};
      return Slot{Phase::kEmpty, 0, next_generation, kNoKey};
  }
  return {};
}

// Bits 0-1 phase, 2-15 pins, 16-31 generation, 32-47 expert, 48-63 layer.
constexpr uint64_t pack(Slot slot) {
  return static_cast<uint64_t>(slot.phase) | static_cast<uint64_t>(slot.pins) << 2U |
         static_cast<uint64_t>(slot.generation) << 16U |
         static_cast<uint64_t>(slot.key.expert) << 32U |
         static_cast<uint64_t>(slot.key.layer) << 48U;
}

constexpr Slot unpack(uint64_t word) {
  return Slot{static_cast<Phase>(word & 3U), static_cast<uint16_t>(word >> 2U & Slot::kMaxPins),
              static_cast<uint16_t>(word >> 16U),
              ExpertKey{static_cast<LayerId>(word >> 48U), static_cast<ExpertId>(word >> 32U)}};
}

// Threads: any, at once. Cost: one compare-exchange, repeated only when another thread changed the
// same slot meanwhile.
class SlotWord {
 public:
  // Acquire pairs with the release of every change: who sees kReady sees the record's bytes.
  Slot load() const { return unpack(word_.load(std::memory_order_acquire)); }

  // Makes the transition from whatever the slot is now. Nothing when it is not legal.
  std::optional<Slot> apply(Event event, ExpertKey key) {
    uint64_t seen = word_.load(std::memory_order_acquire);
    for (;;) {
      const std::optional<Slot> next = after(unpack(seen), event, key);
      if (!next) return {};
      if (exchange(seen, pack(*next))) return next;
    }
  }

  // Makes the transition only if the slot still is exactly `seen`.
  std::optional<Slot> apply_to(Slot seen, Event event) { return apply_to(seen, event, seen.key); }
  std::optional<Slot> apply_to(Slot seen, Event event, ExpertKey key) {
    const std::optional<Slot> next = after(seen, event, key);
    uint64_t expected = pack(seen);
    if (!next || !exchange(expected, pack(*next))) return {};
    return next;
  }

 private:
  // Release publishes what this thread did with the bytes (wrote them, or stopped reading them)
  // to the acquire of whoever changes or loads the word next.
  bool exchange(uint64_t& expected, uint64_t desired) {
    return word_.compare_exchange_strong(expected, desired, std::memory_order_acq_rel,
                                         std::memory_order_acquire);
  }

  std::atomic<uint64_t> word_{pack(Slot{})};
};

}  // namespace smoe
