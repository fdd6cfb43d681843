// The cache in a device's own memory: what it keeps, what it gives up, and where records lie. The
// CPU stands in for the device, whose memory is told apart from the host's by nothing here.
#include "engine/device_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/units.h"
#include "devices/rig.h"
#include "formats/vault_file.h"

namespace smoe::test {
namespace {

constexpr uint64_t kRecordBytes = 8192;

ExpertKey key(uint32_t layer, uint32_t expert) {
  return {LayerId{static_cast<uint16_t>(layer)}, ExpertId{static_cast<uint16_t>(expert)}};
}

// Layers 0 and 2 have four experts each, layer 1 is dense.
std::vector<VaultFile> two_layers() {
  std::vector<VaultFile> layers;
  for (const uint32_t layer : {0U, 2U}) {
    VaultInfo info;
    info.layer = layer;
    info.experts = 4;
    info.record.record_bytes = kRecordBytes;
    info.record.segments.resize(1);
    RowStore rows;
    rows.files = {"model.gguf"};
    rows.slices.resize(4);
    layers.push_back(VaultFile::over(info, std::move(rows)));
  }
  return layers;
}

class DeviceCacheTest : public testing::Test {
 protected:
  std::unique_ptr<DeviceCache> open(uint32_t slots) {
    auto cache = DeviceCache::open(two_layers(), std::vector<uint32_t>{slots}, EvictionPolicy::kLru,
                                   *rig_.device);
    EXPECT_TRUE(cache) << cache.error().message;
    return *std::move(cache);
  }
  View put(DeviceCache& cache, ExpertKey wanted) {
    const View view = cache.room(wanted);
    cache.placed(wanted);
    return view;
  }
  static void visit(DeviceCache& cache, std::vector<ExpertKey> keys) {
    cache.visit({keys.front().layer, keys, {}});
  }

  Rig rig_{CpuKernels::kPortable};
};

TEST_F(DeviceCacheTest, GivesUpTheRecordThatWasUsedLongestAgo) {
  const auto cache = open(3);
  for (uint32_t expert = 0; expert < 3; ++expert) put(*cache, key(0, expert));
  visit(*cache, {key(0, 0)});
  cache->use(key(0, 0));
  put(*cache, key(2, 1));
  EXPECT_TRUE(cache->holds(key(0, 0)));
  EXPECT_FALSE(cache->holds(key(0, 1)));
  EXPECT_TRUE(cache->holds(key(2, 1)));
  EXPECT_FALSE(cache->fits_all());
  EXPECT_FALSE(cache->complete(0));
}

TEST_F(DeviceCacheTest, WhatAStepIsAboutToUseStays) {
  const auto cache = open(2);
  put(*cache, key(0, 0));
  put(*cache, key(0, 1));
  visit(*cache, {key(0, 0), key(0, 1), key(0, 2)});
  // Nothing may be given up, so this one is used and forgotten.
  const View passing = put(*cache, key(0, 2));
  EXPECT_FALSE(cache->holds(key(0, 2)));
  EXPECT_TRUE(cache->holds(key(0, 0)));
  const View first = cache->use(key(0, 0));
  const View second = cache->use(key(0, 1));
  std::set<std::pair<const Buffer*, size_t>> places;
  for (const View& view : {passing, first, second}) places.insert({view.buffer, view.offset});
  EXPECT_EQ(places.size(), 3U);
  put(*cache, key(0, 3));
  EXPECT_TRUE(cache->holds(key(0, 3)));
  EXPECT_FALSE(cache->holds(key(0, 0)));
}

TEST_F(DeviceCacheTest, AnAbandonedStepKeepsNothing) {
  const auto cache = open(2);
  put(*cache, key(0, 0));
  put(*cache, key(0, 1));
  visit(*cache, {key(0, 0), key(0, 1)});
  cache->abandon();
  put(*cache, key(2, 0));
  EXPECT_TRUE(cache->holds(key(2, 0)));
}

TEST_F(DeviceCacheTest, IsCompleteOnceEveryRecordOfALayerIsThere) {
  const auto cache = open(8);
  EXPECT_TRUE(cache->fits_all());
  std::set<std::pair<const Buffer*, size_t>> places;
  put(*cache, key(2, 3));
  for (uint32_t i = 0; i < 7; ++i) {
    const auto missing = cache->missing();
    ASSERT_TRUE(missing);
    EXPECT_FALSE(cache->holds(*missing));
    const View view = put(*cache, *missing);
    places.insert({view.buffer, view.offset});
    EXPECT_EQ(cache->complete(0), i >= 3);
  }
  EXPECT_EQ(places.size(), 7U);
  EXPECT_TRUE(cache->complete(2));
  EXPECT_FALSE(cache->missing());
}

TEST(DeviceSlots, AreThoseThatFitAndAtLeastTwo) {
  const auto layers = two_layers();
  EXPECT_EQ(device_slots(layers, 3 * kRecordBytes).value(), std::vector<uint32_t>{2});
  EXPECT_EQ(device_slots(layers, 6 * kRecordBytes).value(), std::vector<uint32_t>{5});
  EXPECT_EQ(device_slots(layers, kGiB).value(), std::vector<uint32_t>{8});
  const auto none = device_slots(layers, 3 * kRecordBytes - 1);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::kNoMemory);
  EXPECT_NE(none.error().message.find("24.00 KiB"), std::string::npos) << none.error().message;
}

}  // namespace
}  // namespace smoe::test
