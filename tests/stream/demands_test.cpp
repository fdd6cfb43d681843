#include "stream/demands.h"

#include <gtest/gtest.h>

#include "stream/vault_fixture.h"

namespace smoe {
namespace {

class DemandsTest : public testing::Test {
 protected:
  DemandsTest()
      : vault_(),
        catalog_(*Catalog::of(vault_.add_layer(0, 8).add_layer(1, 4, 64).files())),
        demands_(catalog_) {}

  test::TestVault vault_;
  Catalog catalog_;
  Demands demands_;
};

TEST_F(DemandsTest, KeepTheOrderInWhichTheyWereMade) {
  for (const uint32_t record : {5U, 2U, 7U}) demands_.add(record);
  EXPECT_EQ(demands_.first(), 5U);
  EXPECT_EQ(demands_.before(kNoRecord), 7U);
  EXPECT_EQ(demands_.before(7), 2U);
  EXPECT_EQ(demands_.before(5), kNoRecord);
  demands_.remove(5);
  EXPECT_EQ(demands_.first(), 2U);
  EXPECT_EQ(demands_.outstanding(), 2U);
}

TEST_F(DemandsTest, AreReadyInTheOrderOfTheDisk) {
  for (const uint32_t record : {5U, 2U, 7U}) demands_.add(record);
  EXPECT_EQ(demands_.first_ready(), kNoRecord);
  demands_.set_ready(7);
  demands_.set_ready(5);
  EXPECT_EQ(demands_.first_ready(), 7U);
  demands_.remove(7);
  EXPECT_EQ(demands_.first_ready(), 5U);
}

TEST_F(DemandsTest, WaitInTheOrderOfDemandHoweverTheyComeToWait) {
  for (const uint32_t record : {5U, 2U, 7U, 1U}) demands_.add(record);
  for (const uint32_t record : {7U, 1U, 5U, 2U}) demands_.set_waiting(record);
  for (const uint32_t expected : {5U, 2U, 7U, 1U}) {
    EXPECT_EQ(demands_.first_waiting(0), expected);
    demands_.set_reading(expected);
  }
  EXPECT_EQ(demands_.first_waiting(0), kNoRecord);
}

TEST_F(DemandsTest, WaitApartFromThoseOfAnotherRecordSize) {
  demands_.add(8);  // expert 0 of layer 1
  demands_.set_waiting(8);
  EXPECT_EQ(demands_.first_waiting(0), kNoRecord);
  EXPECT_EQ(demands_.first_waiting(1), 8U);
  EXPECT_EQ(demands_.waiting(), 1U);
  demands_.remove(8);
  EXPECT_EQ(demands_.waiting(), 0U);
}

TEST_F(DemandsTest, AreCountedWhileTheyAreRead) {
  for (const uint32_t record : {5U, 2U, 7U}) demands_.add(record);
  EXPECT_EQ(demands_.reading(), 3U);
  demands_.set_waiting(5);
  demands_.set_ready(2);
  EXPECT_EQ(demands_.reading(), 1U);
  demands_.set_reading(5);
  EXPECT_EQ(demands_.reading(), 2U);
  demands_.remove(7);
  demands_.set_failed(5);
  EXPECT_EQ(demands_.reading(), 0U);
}

TEST_F(DemandsTest, KnowWhichWereMadeFirst) {
  for (const uint32_t record : {5U, 2U, 7U}) demands_.add(record);
  EXPECT_TRUE(demands_.among_first(2, 2));
  EXPECT_FALSE(demands_.among_first(7, 2));
  EXPECT_TRUE(demands_.among_first(7, 9));
  demands_.remove(5);
  EXPECT_TRUE(demands_.among_first(7, 2));
}

}  // namespace
}  // namespace smoe
