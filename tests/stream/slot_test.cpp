#include "stream/slot.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace smoe {
namespace {

constexpr ExpertKey kKey{LayerId{3}, ExpertId{7}};
constexpr ExpertKey kOther{LayerId{3}, ExpertId{8}};
constexpr std::array kPhases = {Phase::kEmpty, Phase::kLoading, Phase::kReady, Phase::kConsumed};
constexpr std::array kEvents = {Event::kReserve, Event::kStart, Event::kFill, Event::kFail,
                                Event::kPin,     Event::kUnpin, Event::kEvict};

struct Row {
  Event event;
  Phase from;
  uint16_t pins;  // before
  Phase to;
  uint16_t pins_after;
};

// Every legal transition of a slot with a key, for an event about that key. All else is refused.
constexpr Row kLegal[] = {
    {Event::kReserve, Phase::kEmpty, 0, Phase::kEmpty, 0},
    {Event::kReserve, Phase::kReady, 0, Phase::kEmpty, 0},
    {Event::kReserve, Phase::kConsumed, 0, Phase::kEmpty, 0},
    {Event::kStart, Phase::kEmpty, 0, Phase::kLoading, 0},
    {Event::kFill, Phase::kLoading, 0, Phase::kReady, 0},
    {Event::kFail, Phase::kLoading, 0, Phase::kEmpty, 0},
    {Event::kPin, Phase::kReady, 0, Phase::kConsumed, 1},
    {Event::kPin, Phase::kConsumed, 0, Phase::kConsumed, 1},
    {Event::kPin, Phase::kConsumed, 1, Phase::kConsumed, 2},
    {Event::kPin, Phase::kConsumed, 2, Phase::kConsumed, 3},
    {Event::kUnpin, Phase::kConsumed, 1, Phase::kConsumed, 0},
    {Event::kUnpin, Phase::kConsumed, 2, Phase::kConsumed, 1},
    {Event::kUnpin, Phase::kConsumed, Slot::kMaxPins, Phase::kConsumed, Slot::kMaxPins - 1},
    {Event::kEvict, Phase::kEmpty, 0, Phase::kEmpty, 0},
    {Event::kEvict, Phase::kReady, 0, Phase::kEmpty, 0},
    {Event::kEvict, Phase::kConsumed, 0, Phase::kEmpty, 0},
};

const Row* find(Event event, Phase from, uint16_t pins) {
  for (const Row& row : kLegal)
    if (row.event == event && row.from == from && row.pins == pins) return &row;
  return nullptr;
}

// Phases and pins that can be told apart by any rule, unreachable ones included.
std::vector<Slot> all_slots() {
  std::vector<Slot> slots;
  for (const Phase phase : kPhases) {
    slots.push_back({phase, 0, 41, kKey});
    if (phase == Phase::kConsumed)
      for (const uint16_t pins : {uint16_t{1}, uint16_t{2}, Slot::kMaxPins})
        slots.push_back({phase, pins, 41, kKey});
  }
  return slots;
}

TEST(Slot, MakesExactlyTheTransitionsOfTheTable) {
  for (const Slot& slot : all_slots()) {
    for (const Event event : kEvents) {
      SCOPED_TRACE(testing::Message() << "phase " << static_cast<int>(slot.phase) << " pins "
                                      << slot.pins << " event " << static_cast<int>(event));
      const Row* row = find(event, slot.phase, slot.pins);
      const std::optional<Slot> next = after(slot, event, kKey);
      ASSERT_EQ(next.has_value(), row != nullptr);
      if (row == nullptr) continue;
      EXPECT_EQ(next->phase, row->to);
      EXPECT_EQ(next->pins, row->pins_after);
    }
  }
}

TEST(Slot, RefusesEveryEventAboutAnotherRecordButReserve) {
  for (const Slot& slot : all_slots()) {
    for (const Event event : kEvents) {
      if (event == Event::kReserve) continue;
      EXPECT_FALSE(after(slot, event, kOther));
    }
  }
}

TEST(Slot, ChangesItsKeyOnlyWhenItIsReservedOrEmptied) {
  for (const Slot& slot : all_slots()) {
    for (const Event event : kEvents) {
      const std::optional<Slot> next = after(slot, event, event == Event::kReserve ? kOther : kKey);
      if (!next) continue;
      const bool emptied = event == Event::kEvict || event == Event::kFail;
      const bool changes_hands = emptied || event == Event::kReserve;
      EXPECT_EQ(next->key, emptied ? kNoKey : event == Event::kReserve ? kOther : kKey);
      EXPECT_EQ(next->generation, slot.generation + (changes_hands ? 1 : 0));
    }
  }
}

TEST(Slot, IsNeverReadIntoForNobody) { EXPECT_FALSE(after(Slot{}, Event::kStart, kNoKey)); }

TEST(Slot, IsNeverTakenWhileALeaseHoldsIt) {
  const Slot held{Phase::kConsumed, 1, 0, kKey};
  EXPECT_FALSE(after(held, Event::kEvict, kKey));
  EXPECT_FALSE(after(held, Event::kReserve, kOther));

  const auto released = after(held, Event::kUnpin, kKey);
  ASSERT_TRUE(released);
  EXPECT_EQ(after(*released, Event::kEvict, kKey)->phase, Phase::kEmpty);
}

TEST(Slot, SurvivesPackingWithEveryFieldAtItsLimits) {
  for (const Phase phase : kPhases) {
    for (const uint16_t pins : {uint16_t{0}, uint16_t{1}, Slot::kMaxPins}) {
      for (const uint16_t generation : {uint16_t{0}, uint16_t{1}, uint16_t{0xffff}}) {
        for (const ExpertKey key : {kKey, kNoKey, ExpertKey{}}) {
          const Slot slot{phase, pins, generation, key};
          EXPECT_EQ(unpack(pack(slot)), slot);
        }
      }
    }
  }
}

TEST(Slot, WrapsItsGenerationWithoutTouchingItsKey) {
  const auto next = after(Slot{Phase::kEmpty, 0, 0xffff, kKey}, Event::kReserve, kOther);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->generation, 0);
  EXPECT_EQ(unpack(pack(*next)).key, kOther);
}

TEST(SlotWord, RefusesAJobWhoseSlotChangedHands) {
  SlotWord word;
  const auto first = word.apply(Event::kReserve, kKey);
  ASSERT_TRUE(first);
  ASSERT_TRUE(word.apply(Event::kReserve, kOther));
  ASSERT_TRUE(word.apply(Event::kReserve, kKey));

  EXPECT_FALSE(word.apply_to(*first, Event::kStart)) << "the same key, two generations later";
}

TEST(SlotWord, StartsAQueuedJobOnce) {
  SlotWord word;
  const auto reserved = word.apply(Event::kReserve, kKey);
  ASSERT_TRUE(reserved);
  EXPECT_TRUE(word.apply_to(*reserved, Event::kStart));
  EXPECT_FALSE(word.apply_to(*reserved, Event::kStart));
}

TEST(SlotWord, LendsOnlyTheRecordThatWasAskedFor) {
  SlotWord word;
  ASSERT_TRUE(word.apply(Event::kReserve, kKey));
  ASSERT_TRUE(word.apply(Event::kStart, kKey));
  EXPECT_FALSE(word.apply(Event::kPin, kKey)) << "it is still being read";
  ASSERT_TRUE(word.apply(Event::kFill, kKey));
  EXPECT_FALSE(word.apply(Event::kPin, kOther));
  EXPECT_TRUE(word.apply(Event::kPin, kKey));
}

}  // namespace
}  // namespace smoe
