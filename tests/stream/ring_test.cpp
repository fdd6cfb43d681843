#include "stream/ring.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/units.h"
#include "stream/vault_fixture.h"

namespace smoe {
namespace {

using testing::HasSubstr;

// Makes a reserved slot hold its record, as a loader does.
void fill(Ring& ring, const Ring::Place& place) {
  ASSERT_TRUE(ring.word(place.slot).apply_to(place.reserved, Event::kStart));
  ASSERT_TRUE(ring.word(place.slot).apply(Event::kFill, place.reserved.key));
  ring.end_flight(place.slot);
}

class RingTest : public testing::Test {
 protected:
  RingTest() : catalog_(*Catalog::of(vault_.add_layer(0, 16).add_layer(4, 8, 64).files())) {}

  std::unique_ptr<Ring> make(std::vector<uint32_t> slots) {
    auto ring = Ring::make(catalog_, slots);
    EXPECT_TRUE(ring);
    return std::move(*ring);
  }
  // A resident record that has been used.
  void use(Ring& ring, uint32_t record) {
    const Ring::Place place = ring.take_for_demand(record);
    fill(ring, place);
    ring.offer(place.slot);
  }
  uint32_t bet(Ring& ring, uint32_t record, uint64_t round) {
    return ring.take_for_bet(record, round).slot;
  }

  test::TestVault vault_;
  Catalog catalog_;
};

// K5
TEST_F(RingTest, RefusesLessThanTwoSlotsAndNamesWhatWouldDo) {
  const auto ring = Ring::make(catalog_, std::vector<uint32_t>{4, 1});
  ASSERT_FALSE(ring);
  EXPECT_EQ(ring.error().code, Code::kUsage);
  EXPECT_THAT(ring.error().message, HasSubstr("at least 2 slots of 48.00 KiB each (96.00 KiB)"));
  EXPECT_THAT(ring.error().message, HasSubstr("1 given"));
}

TEST_F(RingTest, RefusesSlotsForAnotherNumberOfRecordSizes) {
  const auto ring = Ring::make(catalog_, std::vector<uint32_t>{4});
  ASSERT_FALSE(ring);
  EXPECT_EQ(ring.error().code, Code::kUsage);
  EXPECT_THAT(ring.error().message, HasSubstr("records of 2 sizes, slots were given for 1"));
}

// K7: memory that cannot be had is an error of open, not a crash.
TEST_F(RingTest, RefusesMoreMemoryThanThereIs) {
  for (const uint32_t slots : {0xffffffffU, 0xfffffff0U}) {
    const auto ring = Ring::make(catalog_, std::vector<uint32_t>{slots, 2});
    ASSERT_FALSE(ring);
    EXPECT_EQ(ring.error().code, Code::kNoMemory);
  }
}

TEST_F(RingTest, KeepsTheSlotsOfARecordSizeTogetherAndOnPages) {
  const auto ring = make({3, 2});
  EXPECT_EQ(ring->memory().size(), 3 * 16 * kKiB + 2 * 48 * kKiB);
  uint64_t offset = 0;
  for (uint32_t slot = 0; slot < ring->slots(); ++slot) {
    const std::span<std::byte> bytes = ring->bytes(slot);
    EXPECT_EQ(bytes.data(), ring->memory().data() + offset);
    EXPECT_EQ(bytes.size(), (slot < 3 ? 16 : 48) * kKiB);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(bytes.data()) % kPageBytes, 0U);
    offset += bytes.size();
  }
}

TEST_F(RingTest, FindsTheSlotOfARecordUntilItGoesToAnother) {
  const auto ring = make({2, 2});
  EXPECT_EQ(ring->slot_of(5), kNoSlot);
  use(*ring, 5);
  const uint32_t slot = ring->slot_of(5);
  EXPECT_EQ(ring->record_of(slot), 5U);
  use(*ring, 6);
  use(*ring, 7);
  EXPECT_EQ(ring->slot_of(5), kNoSlot);
  EXPECT_EQ(ring->slot_of(7), slot);
}

TEST_F(RingTest, TakesFreeSlotsThenBetsThenUsedRecords) {
  const auto ring = make({4, 2});
  use(*ring, 0);
  use(*ring, 1);
  const uint32_t bet_slot = bet(*ring, 2, 1);

  const uint32_t first = ring->take_for_demand(3).slot;
  const uint32_t second = ring->take_for_demand(4).slot;
  EXPECT_NE(first, bet_slot) << "a slot was still free";
  EXPECT_EQ(second, bet_slot);
  EXPECT_NE(ring->slot_of(0), kNoSlot);

  EXPECT_NE(ring->take_for_demand(5).slot, kNoSlot);
  EXPECT_EQ(ring->slot_of(0), kNoSlot) << "the least recently used went";
  EXPECT_NE(ring->slot_of(1), kNoSlot);
}

TEST_F(RingTest, NeverTakesASlotThatIsHeld) {
  const auto ring = make({2, 2});
  const Ring::Place reading = ring->take_for_demand(0);
  const Ring::Place held = ring->take_for_demand(1);
  fill(*ring, held);
  EXPECT_EQ(ring->take_for_demand(2).slot, kNoSlot);
  EXPECT_EQ(ring->take_for_bet(2, 1).slot, kNoSlot);

  ring->offer(held.slot);
  EXPECT_EQ(ring->take_for_demand(2).slot, held.slot);
  EXPECT_EQ(ring->slot_of(0), reading.slot);
}

TEST_F(RingTest, GivesBetsNoMoreThanHalfAndNeverTheLastTwoSlots) {
  const auto ring = make({6, 2});
  for (uint32_t record = 0; record < 5; ++record)
    EXPECT_EQ(bet(*ring, record, 1) != kNoSlot, record < 3);
  EXPECT_EQ(bet(*ring, 16, 1), kNoSlot) << "two slots are for demands alone";
}

TEST_F(RingTest, ReplacesOnlyBetsOfAnEarlierRoundByBets) {
  const auto ring = make({4, 2});
  const uint32_t first = bet(*ring, 0, 1);
  bet(*ring, 1, 1);
  EXPECT_EQ(bet(*ring, 2, 1), kNoSlot);
  EXPECT_EQ(bet(*ring, 3, 2), first);
}

TEST_F(RingTest, LeavesABetAloneOnceItsReadHasBegun) {
  const auto ring = make({4, 2});
  const Ring::Place started = ring->take_for_bet(0, 1);
  const uint32_t queued = bet(*ring, 1, 1);
  ASSERT_TRUE(ring->word(started.slot).apply_to(started.reserved, Event::kStart));
  use(*ring, 2);
  use(*ring, 3);
  EXPECT_EQ(ring->take_for_demand(4).slot, queued);
  EXPECT_NE(ring->slot_of(0), kNoSlot);
  EXPECT_TRUE(ring->is_bet(started.slot));

  ASSERT_TRUE(ring->word(started.slot).apply(Event::kFill, started.reserved.key));
  ring->end_flight(started.slot);
  ring->keep_as_bet(started.slot);
  EXPECT_EQ(ring->take_for_demand(5).slot, started.slot) << "resident, it is the first to go";
}

// Taken then, the completion that is still on its way would be heard for the record that came
// after.
TEST_F(RingTest, LeavesABetAloneUntilTheEndOfItsReadHasBeenHeardOf) {
  for (const Event end : {Event::kFill, Event::kFail}) {
    const auto ring = make({4, 2});
    const Ring::Place place = ring->take_for_bet(0, 1);
    ASSERT_TRUE(ring->word(place.slot).apply_to(place.reserved, Event::kStart));
    ASSERT_TRUE(ring->word(place.slot).apply(end, place.reserved.key));
    for (uint32_t record = 1; record < 4; ++record) use(*ring, record);
    EXPECT_NE(ring->take_for_demand(4).slot, place.slot);
    EXPECT_EQ(ring->slot_of(0), place.slot);
    EXPECT_TRUE(ring->in_flight(place.slot));
  }
}

TEST_F(RingTest, ForgetsThatASlotWasABetOnceItIsDemanded) {
  const auto ring = make({4, 2});
  const Ring::Place place = ring->take_for_bet(0, 1);
  fill(*ring, place);
  ring->keep_as_bet(place.slot);
  EXPECT_TRUE(ring->hold(place.slot));
  EXPECT_FALSE(ring->is_bet(place.slot));
  EXPECT_NE(bet(*ring, 1, 1), kNoSlot);
  EXPECT_NE(bet(*ring, 2, 1), kNoSlot) << "the demanded one counts no longer";
}

TEST_F(RingTest, CountsTheReadsInFlight) {
  const auto ring = make({4, 2});
  const Ring::Place one = ring->take_for_demand(0);
  const Ring::Place two = ring->take_for_bet(1, 1);
  EXPECT_EQ(ring->in_flight(), 2U);
  fill(*ring, one);
  EXPECT_EQ(ring->in_flight(), 1U);
  ASSERT_TRUE(ring->word(two.slot).apply_to(two.reserved, Event::kEvict));
  ring->release(two.slot);
  EXPECT_EQ(ring->in_flight(), 0U);
  EXPECT_EQ(ring->slot_of(1), kNoSlot);
}

}  // namespace
}  // namespace smoe
