#include "engine/kv_cache.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <vector>

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

TEST_F(KvCacheTest, TakesTheBytesOfItsType) {
  // 2 layers of 2 heads of 8 numbers, keys and values; so many positions that regions are whole
  // pages of memory.
  const auto bytes = [](KvType type) {
    return KvCache::bytes_for(two_layers(), {.context = 51200, .type = type});
  };
  constexpr uint64_t kNumbers = uint64_t{51200} * 2 * 2 * 8 * 2;
  EXPECT_EQ(bytes(KvType::kF32), kNumbers * 4);
  EXPECT_EQ(bytes(KvType::kF16), kNumbers * 2);
  EXPECT_EQ(bytes(KvType::kQ8_0), kNumbers + kNumbers / 8 * 2);  // a scale for a head's 8 numbers
}

TEST_F(KvCacheTest, CopiesPagesOfEveryTypeByteForByte) {
  for (const KvType type : {KvType::kF32, KvType::kF16, KvType::kQ8_0}) {
    auto cache =
        KvCache::open(two_layers(), {.context = 64, .sequences = 2, .type = type}, *device_);
    ASSERT_TRUE(cache);
    const SequenceId a = *cache->open_sequence();
    const SequenceId b = *cache->open_sequence();
    ASSERT_TRUE(cache->extend(a, 64));
    const KvPages pages = cache->layer(1);
    std::vector<std::byte> written(pages.page_bytes());
    for (size_t i = 0; i < written.size(); ++i) written[i] = static_cast<std::byte>(i * 7 + 3);
    const auto at = [&](uint32_t page) {
      return View{pages.view.buffer, pages.view.offset + page * pages.page_bytes()};
    };
    device_->write(at(cache->page(a, 1)), written);
    cache->share_copy(b, cache->page(a, 1));
    const View copy = at(cache->page(b, 0));
    EXPECT_EQ(std::memcmp(copy.buffer->host().data() + copy.offset, written.data(), written.size()),
              0)
        << name_of(type);
  }
}

TEST_F(KvCacheTest, RefusesPagesThatTheDeviceDoesNotKeep) {
  ModelSpec spec = two_layers();
  spec.layers[1].attention.head_dim = 1024;
  ASSERT_TRUE(KvCache::open(spec, {.context = 64}, *device_));
  const auto cache = KvCache::open(spec, {.context = 64, .type = KvType::kQ8_0}, *device_);
  ASSERT_FALSE(cache);
  EXPECT_EQ(cache.error().code, Code::kUnsupported);
  EXPECT_NE(cache.error().message.find("q8_0"), std::string::npos);
  EXPECT_NE(cache.error().message.find("1024"), std::string::npos);
}

}  // namespace
}  // namespace smoe
