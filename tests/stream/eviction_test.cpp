#include "stream/eviction.h"

#include <gtest/gtest.h>

#include "stream/slot.h"

namespace smoe {
namespace {

TEST(Lru, GivesUpTheSlotThatWasOfferedFirst) {
  const auto lru = make_lru(4);
  lru->offer(2, {});
  lru->offer(0, {});
  lru->offer(3, {});
  EXPECT_EQ(lru->victim({}), 2U);
  EXPECT_EQ(lru->victim({}), 2U) << "it stays offered until it is withdrawn";
  lru->withdraw(2);
  EXPECT_EQ(lru->victim({}), 0U);
}

TEST(Lru, CountsASlotThatWasUsedAgainAsTheNewest) {
  const auto lru = make_lru(4);
  for (const uint32_t slot : {0U, 1U, 2U}) lru->offer(slot, {});
  lru->withdraw(0);
  lru->offer(0, {});
  EXPECT_EQ(lru->victim({}), 1U);
}

TEST(Lru, HasNoVictimWhenNothingIsOffered) {
  const auto lru = make_lru(2);
  EXPECT_EQ(lru->victim({}), kNoSlot);
  lru->offer(1, {});
  lru->withdraw(1);
  lru->withdraw(1);
  EXPECT_EQ(lru->victim({}), kNoSlot);
}

}  // namespace
}  // namespace smoe
