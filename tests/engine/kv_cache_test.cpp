#include "engine/kv_cache.h"

#include <gtest/gtest.h>

#include <set>

#include "base/thread_pool.h"
#include "devices/cpu/cpu_device.h"

namespace smoe {
namespace {

ModelSpec two_layers() {
  ModelSpec spec;
  spec.layers.resize(2);
  for (LayerSpec& layer : spec.layers) {
    layer.attention.kv_heads = 2;
    layer.attention.head_dim = 8;
  }
  return spec;
}

class KvCacheTest : public testing::Test {
 protected:
  void SetUp() override {
    auto device = make_cpu_device(pool_, CpuKernels::kPortable);
    ASSERT_TRUE(device);
    device_ = *std::move(device);
    auto cache = KvCache::open(two_layers(), {.context = 100, .sequences = 2}, *device_);
    ASSERT_TRUE(cache);
    cache_.emplace(*std::move(cache));
  }

  uint32_t page_of(SequenceId sequence, uint32_t position) {
    const TokenPlace place = cache_->place(sequence, position);
    return cache_->page_table()[place.page_begin + position / kPagePositions];
  }

  ThreadPool pool_{1};
  std::unique_ptr<Device> device_;
  std::optional<KvCache> cache_;
};

TEST_F(KvCacheTest, GivesEveryPageToOneSequenceOnly) {
  const SequenceId a = *cache_->open_sequence();
  const SequenceId b = *cache_->open_sequence();
  ASSERT_TRUE(cache_->extend(a, 100));
  ASSERT_TRUE(cache_->extend(b, 100));
  std::set<uint32_t> pages;
  for (const SequenceId sequence : {a, b})
    for (uint32_t position = 0; position < 100; position += kPagePositions)
      EXPECT_TRUE(pages.insert(page_of(sequence, position)).second);
  EXPECT_EQ(pages.size(), 8U);
}

TEST_F(KvCacheTest, KeepsItsPagesWhenItGrows) {
  const SequenceId a = *cache_->open_sequence();
  ASSERT_TRUE(cache_->extend(a, 10));
  const uint32_t first = page_of(a, 0);
  ASSERT_TRUE(cache_->extend(a, 90));
  EXPECT_EQ(page_of(a, 0), first);
}

TEST_F(KvCacheTest, SaysWithBothNumbersThatTheContextIsFull) {
  const SequenceId a = *cache_->open_sequence();
  const Status status = cache_->extend(a, 101);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kContextFull);
  EXPECT_NE(status.error().message.find("101"), std::string::npos);
  EXPECT_NE(status.error().message.find("100"), std::string::npos);
}

TEST_F(KvCacheTest, RefusesMoreSequencesThanItHasRoomForAndReusesClosedOnes) {
  const SequenceId a = *cache_->open_sequence();
  ASSERT_TRUE(cache_->open_sequence());
  EXPECT_FALSE(cache_->open_sequence());
  ASSERT_TRUE(cache_->extend(a, 100));
  cache_->close_sequence(a);
  const auto again = cache_->open_sequence();
  ASSERT_TRUE(again);
  EXPECT_TRUE(cache_->extend(*again, 100));
}

}  // namespace
}  // namespace smoe
