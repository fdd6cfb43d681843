#include "stream/eviction.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/rng.h"
#include "stream/slot.h"
#include "stream/vault_fixture.h"

namespace smoe {
namespace {

using test::key;

RingShape shape_of(uint32_t layers, uint32_t experts, uint32_t slots) {
  RingShape shape;
  for (uint32_t layer = 0; layer < layers; ++layer)
    shape.layers.push_back({static_cast<LayerId>(layer), experts});
  shape.slots = {slots};
  return shape;
}

void visit(Eviction& policy, uint32_t layer, std::vector<uint32_t> experts,
           const RouterNumbers& router = {}) {
  std::vector<ExpertKey> keys;
  for (const uint32_t expert : experts) keys.push_back(key(layer, expert));
  policy.visit({static_cast<LayerId>(layer), keys, router});
}

class EveryPolicy : public testing::TestWithParam<EvictionPolicy> {
 protected:
  static std::unique_ptr<Eviction> make(const RingShape& shape) {
    return make_eviction(GetParam(), shape);
  }
};

INSTANTIATE_TEST_SUITE_P(Policies, EveryPolicy,
                         testing::Values(EvictionPolicy::kLru, EvictionPolicy::kRates,
                                         EvictionPolicy::kFitted),
                         [](const auto& instance) { return std::string(name_of(instance.param)); });

TEST_P(EveryPolicy, SaysItsName) {
  EXPECT_EQ(make(shape_of(1, 4, 2))->name(), name_of(GetParam()));
}

TEST_P(EveryPolicy, GivesUpTheSlotThatWasOfferedFirstWhileItKnowsNothing) {
  const auto policy = make(shape_of(1, 4, 4));
  policy->offer(2, key(0, 1));
  policy->offer(0, key(0, 2));
  policy->offer(3, key(0, 3));
  EXPECT_EQ(policy->victim(0), 2U);
  EXPECT_EQ(policy->victim(0), 2U) << "it stays offered until it is withdrawn";
  policy->withdraw(2);
  EXPECT_EQ(policy->victim(0), 0U);
}

TEST_P(EveryPolicy, CountsASlotThatWasUsedAgainAsTheNewest) {
  const auto policy = make(shape_of(1, 4, 4));
  for (const uint32_t slot : {0U, 1U, 2U}) policy->offer(slot, key(0, slot));
  policy->withdraw(0);
  policy->offer(0, key(0, 0));
  EXPECT_EQ(policy->victim(0), 1U);
}

TEST_P(EveryPolicy, HasNoVictimWhenNothingIsOffered) {
  const auto policy = make(shape_of(1, 4, 2));
  EXPECT_EQ(policy->victim(0), kNoSlot);
  policy->offer(1, key(0, 0));
  policy->withdraw(1);
  policy->withdraw(1);
  EXPECT_EQ(policy->victim(0), kNoSlot);
}

TEST_P(EveryPolicy, ChoosesAmongTheSlotsOfOneRecordSize) {
  RingShape shape = shape_of(2, 4, 2);
  shape.slots = {2, 3};
  const auto policy = make(shape);
  policy->offer(1, key(0, 0));
  policy->offer(4, key(1, 0));
  EXPECT_EQ(policy->victim(0), 1U);
  EXPECT_EQ(policy->victim(1), 4U);
  policy->withdraw(1);
  EXPECT_EQ(policy->victim(0), kNoSlot);
}

class ScoredPolicy : public EveryPolicy {};
INSTANTIATE_TEST_SUITE_P(Policies, ScoredPolicy,
                         testing::Values(EvictionPolicy::kRates, EvictionPolicy::kFitted),
                         [](const auto& instance) { return std::string(name_of(instance.param)); });

TEST_P(ScoredPolicy, KeepsWhatIsWantedOftenThoughItWasUsedLongAgo) {
  const auto policy = make(shape_of(1, 8, 2));
  for (int token = 0; token < 30; ++token) visit(*policy, 0, {1});
  visit(*policy, 0, {5});
  policy->offer(0, key(0, 1));
  policy->offer(1, key(0, 5));
  EXPECT_EQ(policy->victim(0), 1U);
}

TEST_P(ScoredPolicy, RemembersAnExpertWhoseRecordIsNotResident) {
  const auto policy = make(shape_of(1, 8, 2));
  for (int token = 0; token < 30; ++token) visit(*policy, 0, {1});
  policy->offer(0, key(0, 1));
  policy->withdraw(0);  // given up
  visit(*policy, 0, {5});
  policy->offer(1, key(0, 5));
  policy->offer(0, key(0, 1));  // read again
  EXPECT_EQ(policy->victim(0), 1U);
}

// Of equally likely records the one whose layer has just passed goes first.
TEST_P(ScoredPolicy, GivesUpTheRecordWhoseLayerIsFurthestAhead) {
  const auto policy = make(shape_of(4, 4, 4));
  for (int token = 0; token < 10; ++token)
    for (uint32_t layer = 0; layer < 4; ++layer) visit(*policy, layer, {2});
  for (uint32_t layer = 0; layer < 4; ++layer) policy->offer(layer, key(layer, 2));
  for (uint32_t layer = 0; layer < 4; ++layer) {
    visit(*policy, layer, {2});
    EXPECT_EQ(policy->victim(0), layer);
  }
}

TEST(FittedPolicy, LearnsThatTheRouterKnowsWhatComes) {
  constexpr uint32_t kExperts = 16;
  const auto policy = make_eviction(EvictionPolicy::kFitted, shape_of(1, kExperts, 2));
  // Whoever is wanted next stands second now; frequencies say nothing.
  Rng rng(7);
  std::vector<float> probabilities(kExperts);
  std::vector<uint16_t> ranks(kExperts);
  uint32_t wanted = 0;
  uint32_t next = 1;
  for (int token = 0; token < 4000; ++token) {
    for (uint32_t i = 0, place = 2; i < kExperts; ++i) {
      ranks[i] = static_cast<uint16_t>(i == wanted ? 0 : i == next ? 1 : place++);
      probabilities[i] = i == wanted ? 0.6F : i == next ? 0.2F : 0.2F / 14;
    }
    visit(*policy, 0, {wanted}, {probabilities, ranks});
    wanted = next;
    do next = static_cast<uint32_t>(rng.below(kExperts));
    while (next == wanted);
  }
  const uint32_t other = (wanted + 1) % kExperts;
  policy->offer(0, key(0, wanted));
  policy->offer(1, key(0, other));
  EXPECT_EQ(policy->victim(0), 1U);
}

// A prompt wants everything; what the policy knew of the text stays.
TEST(FittedPolicy, KeepsItsKnowledgeThroughASweep) {
  constexpr uint32_t kExperts = 8;
  const auto policy = make_eviction(EvictionPolicy::kFitted, shape_of(1, kExperts, 2));
  std::vector<float> probabilities(kExperts, 0.05F);
  std::vector<uint16_t> ranks(kExperts);
  for (uint32_t i = 0; i < kExperts; ++i) ranks[i] = static_cast<uint16_t>(i);
  probabilities[0] = 0.65F;
  for (int token = 0; token < 50; ++token) visit(*policy, 0, {0}, {probabilities, ranks});
  std::vector<float> summed(kExperts);
  std::ranges::transform(probabilities, summed.begin(), [](float one) { return 100 * one; });
  visit(*policy, 0, {0, 1, 2, 3, 4, 5, 6, 7}, {summed, ranks, 100, 1});
  policy->offer(0, key(0, 0));
  policy->offer(1, key(0, 7));
  EXPECT_EQ(policy->victim(0), 1U);
}

}  // namespace
}  // namespace smoe
