#include "engine/device_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/units.h"
#include "stream/slot.h"
#include "stream/streamer.h"

namespace smoe {
namespace {

constexpr uint64_t kSegmentBytes = kGiB;
// Command buffers, arguments, compiled kernels.
constexpr uint64_t kFixedBytes = 64 * kMiB;

}  // namespace

uint64_t device_bytes_besides_records(const MemoryPlan& plan) {
  return plan.scout_bytes + plan.kv_bytes + plan.scratch_bytes + kFixedBytes;
}

Result<std::vector<uint32_t>> device_slots(std::span<const VaultFile> layers, uint64_t bytes) {
  const std::vector<RecordClass> classes = record_classes(layers);
  uint64_t whole = 0;
  uint64_t least = 0;
  uint64_t passing = 0;  // one of each size is not kept
  for (const RecordClass& size : classes) {
    whole += size.records * size.record_bytes;
    least += 3 * size.record_bytes;
    passing += size.record_bytes;
  }
  if (bytes < least)
    return Error{Code::kNoMemory,
                 fmt::format("the device has {} left for experts, and this model needs at least {} "
                             "there; a smaller --ctx or --device cpu will do",
                             format_bytes(bytes), format_bytes(least))};
  std::vector<uint32_t> slots;
  slots.reserve(classes.size());
  const double share =
      std::min(1.0, static_cast<double>(bytes - passing) / static_cast<double>(whole));
  for (const RecordClass& size : classes)
    slots.push_back(
        std::max<uint32_t>(2, static_cast<uint32_t>(share * static_cast<double>(size.records))));
  return slots;
}

Result<std::unique_ptr<DeviceCache>> DeviceCache::open(std::span<const VaultFile> layers,
                                                       std::span<const uint32_t> slots,
                                                       EvictionPolicy eviction, Device& device) {
  std::unique_ptr<DeviceCache> cache(new DeviceCache(device));
  const std::vector<RecordClass> classes = record_classes(layers);
  SMOE_CHECK(slots.size() == classes.size());
  cache->fits_all_ = true;
  uint32_t first_slot = 0;
  for (size_t i = 0; i < classes.size(); ++i) {
    const uint64_t bytes = classes[i].record_bytes;
    const auto slots_of_segment =
        static_cast<uint32_t>(std::max<uint64_t>(1, kSegmentBytes / bytes));
    cache->classes_.push_back({bytes, first_slot, slots[i], 0,
                               static_cast<uint32_t>(cache->memory_.size()), slots_of_segment});
    cache->fits_all_ = cache->fits_all_ && slots[i] >= classes[i].records;
    for (uint32_t left = slots[i] + 1; left > 0;) {
      const uint32_t here = std::min(left, slots_of_segment);
      SMOE_TRY(Buffer segment, device.allocate(here * bytes));
      cache->memory_.push_back(std::move(segment));
      left -= here;
    }
    first_slot += slots[i];
  }
  RingShape shape;
  shape.slots.assign(slots.begin(), slots.end());
  uint32_t records = 0;
  uint32_t most = 0;
  for (const VaultFile& file : layers) {
    const VaultInfo& info = file.info();
    if (cache->layers_.size() <= info.layer) cache->layers_.resize(info.layer + 1);
    const auto size = std::find_if(classes.begin(), classes.end(), [&](const RecordClass& known) {
      return known.record_bytes == info.record.record_bytes;
    });
    cache->layers_[info.layer] = {records, info.experts, 0,
                                  static_cast<uint32_t>(size - classes.begin())};
    shape.layers.push_back({LayerId{static_cast<uint16_t>(info.layer)}, info.experts});
    records += info.experts;
    most = std::max(most, info.experts);
  }
  std::sort(shape.layers.begin(), shape.layers.end(),
            [](const auto& a, const auto& b) { return a.layer < b.layer; });
  cache->slot_of_.assign(records, kNowhere);
  cache->key_of_.resize(first_slot);
  cache->kept_.reserve(most);
  cache->eviction_ = make_eviction(eviction, shape);
  SMOE_TRY(cache->tables_, device.allocate(records * sizeof(uint64_t)));
  return cache;
}

View DeviceCache::view_of(const Class& size, uint32_t slot) const {
  const uint32_t index = slot - size.first_slot;
  return {&memory_[size.first_segment + index / size.slots_of_segment],
          index % size.slots_of_segment * size.record_bytes};
}

View DeviceCache::table(uint32_t layer) const {
  return {&tables_, layers_[layer].first * sizeof(uint64_t)};
}

void DeviceCache::visit(const LayerVisit& visit) {
  eviction_->visit(visit);
  for (const ExpertKey key : visit.demanded) {
    const uint32_t slot = slot_of_[number_of(key)];
    if (slot == kNowhere) continue;
    eviction_->withdraw(slot);
    kept_.push_back(slot);
  }
}

void DeviceCache::release(uint32_t slot) {
  const auto kept = std::find(kept_.begin(), kept_.end(), slot);
  if (kept == kept_.end()) return;
  *kept = kept_.back();
  kept_.pop_back();
  eviction_->offer(slot, key_of_[slot]);
}

View DeviceCache::use(ExpertKey key) {
  const uint32_t slot = slot_of_[number_of(key)];
  SMOE_CHECK(slot != kNowhere);
  release(slot);
  return view_of(classes_[layers_[static_cast<size_t>(key.layer)].size_class], slot);
}

View DeviceCache::room(ExpertKey key) {
  Layer& layer = layers_[static_cast<size_t>(key.layer)];
  Class& size = classes_[layer.size_class];
  uint32_t slot = size.first_slot + size.used;
  if (size.used < size.slots) {
    ++size.used;
    records_.fetch_add(1, std::memory_order_relaxed);
  } else {
    slot = eviction_->victim(layer.size_class);
    if (slot == kNoSlot) return view_of(size, size.first_slot + size.slots);
    eviction_->withdraw(slot);
    slot_of_[number_of(key_of_[slot])] = kNowhere;
    --layers_[static_cast<size_t>(key_of_[slot].layer)].there;
  }
  slot_of_[number_of(key)] = slot;
  key_of_[slot] = key;
  ++layer.there;
  eviction_->offer(slot, key);
  return view_of(size, slot);
}

void DeviceCache::placed(ExpertKey key) {
  if (!fits_all_) return;
  const uint32_t number = number_of(key);
  const Class& size = classes_[layers_[static_cast<size_t>(key.layer)].size_class];
  device_.place_record({&tables_, 0}, number, view_of(size, slot_of_[number]));
}

void DeviceCache::abandon() {
  while (!kept_.empty()) release(kept_.back());
}

std::optional<ExpertKey> DeviceCache::missing() {
  for (; next_missing_ < slot_of_.size(); ++next_missing_) {
    if (slot_of_[next_missing_] != kNowhere) continue;
    for (size_t layer = 0; layer < layers_.size(); ++layer) {
      const uint32_t first = layers_[layer].first;
      if (next_missing_ >= first && next_missing_ - first < layers_[layer].experts)
        return ExpertKey{LayerId{static_cast<uint16_t>(layer)},
                         ExpertId{static_cast<uint16_t>(next_missing_ - first)}};
    }
  }
  return {};
}

}  // namespace smoe
