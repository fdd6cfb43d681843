#include "model/memory_plan.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "base/units.h"

namespace smoe {
namespace {

MemoryRequest request() {
  MemoryRequest request;
  request.budget_bytes = 100 * kMiB;
  request.budget_origin = "--memory";
  request.scout_bytes = 20 * kMiB;
  request.kv_bytes = 10 * kMiB;
  request.fixed_bytes = 5 * kMiB;
  request.context = 1024;
  request.sizes = {{kMiB, 1000}};
  request.scratch_of = [](uint32_t rows) { return uint64_t{rows} * 32 * kKiB; };
  return request;
}

TEST(MemoryPlan, GivesTheRingWhatIsLeftAndStaysWithinTheBudget) {
  const auto plan = plan_memory(request());
  ASSERT_TRUE(plan);
  EXPECT_LE(plan->total_bytes(), 100 * kMiB);
  EXPECT_GT(plan->total_bytes(), 98 * kMiB);
  EXPECT_GE(plan->prompt_chunk, 64U);
  EXPECT_GT(plan->ring_slots(), 40U);
}

TEST(MemoryPlan, NeverGivesTheRingMoreThanTheVault) {
  MemoryRequest big = request();
  big.budget_bytes = 100 * kGiB;
  const auto plan = plan_memory(big);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->ring_slots(), 1000U);
  EXPECT_EQ(plan->prompt_chunk, 1024U);
}

TEST(MemoryPlan, RefusesABudgetThatIsTooSmallNamingOneThatWorks) {
  MemoryRequest small = request();
  small.budget_bytes = 30 * kMiB;
  const auto refused = plan_memory(small);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kNoMemory);
  EXPECT_NE(refused.error().message.find("39.00 MiB"), std::string::npos)
      << refused.error().message;
  small.budget_bytes = 39 * kMiB;
  const auto plan = plan_memory(small);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->ring_slots(), 2U);
  EXPECT_EQ(plan->prompt_chunk, 64U);
}

TEST(MemoryPlan, TakesTheChunkAndTheSlotsThatWereAskedFor) {
  MemoryRequest asked = request();
  asked.ring_slots = 7;
  asked.prompt_chunk = 3;
  const auto plan = plan_memory(asked);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->ring_slots(), 7U);
  EXPECT_EQ(plan->prompt_chunk, 3U);
}

TEST(MemoryPlan, RefusesFewerThanTwoSlots) {
  MemoryRequest asked = request();
  asked.ring_slots = 1;
  const auto refused = plan_memory(asked);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUsage);
}

TEST(MemoryPlan, HoldsForAnyMixtureOfRecordSizes) {
  Rng rng(3);
  for (int round = 0; round < 5000; ++round) {
    MemoryRequest any = request();
    any.sizes.clear();
    for (uint64_t i = 0; i <= rng.below(4); ++i)
      any.sizes.push_back({(1 + rng.below(200)) * 16 * kKiB, 2 + rng.below(300)});
    any.budget_bytes = (30 + rng.below(400)) * kMiB;
    if (rng.below(2) == 0) any.ring_slots = static_cast<uint32_t>(rng.below(600));
    const auto plan = plan_memory(any);
    if (!plan) continue;
    ASSERT_LE(plan->total_bytes(), any.budget_bytes);
    uint64_t bytes = 0;
    for (size_t i = 0; i < any.sizes.size(); ++i) {
      ASSERT_GE(plan->slots[i], 2U);
      ASSERT_LE(plan->slots[i], any.sizes[i].records);
      bytes += plan->slots[i] * any.sizes[i].record_bytes;
    }
    ASSERT_EQ(bytes, plan->ring_bytes);
    if (any.ring_slots) {
      ASSERT_LE(plan->ring_slots(), *any.ring_slots);
    }
  }
}

}  // namespace
}  // namespace smoe
