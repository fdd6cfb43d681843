// Records in the memory of a device that has its own: a cache above the ring, filled through it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "compute/device.h"
#include "formats/vault_file.h"
#include "model/memory_plan.h"
#include "stream/eviction.h"
#include "stream/expert_key.h"
#include "stream/layer_visit.h"

namespace smoe {

// What a device with memory of its own holds of a plan besides records: all but the ring, and what
// the driver needs.
uint64_t device_bytes_besides_records(const MemoryPlan& plan);

// Slots of each class of record size (record_classes()) that fit into `bytes`, each class's share
// in proportion to its bytes. Fails: kNoMemory when there is no room for two of each, naming what
// that takes.
Result<std::vector<uint32_t>> device_slots(std::span<const VaultFile> layers, uint64_t bytes);

// Threads: the step's own. What the device was told to do with a record is done before the record's
// place is written again, because the device works in order.
class DeviceCache {
 public:
  // Fails: kNoMemory, kIo.
  static Result<std::unique_ptr<DeviceCache>> open(std::span<const VaultFile> layers,
                                                   std::span<const uint32_t> slots,
                                                   EvictionPolicy eviction, Device& device);

  bool holds(ExpertKey key) const { return slot_of_[number_of(key)] != kNowhere; }
  // A step wants these records of a layer: those that are there stay until use().
  void visit(const LayerVisit& visit);
  // Where a record lies that is there.
  View use(ExpertKey key);
  // Room for one that is not, whose bytes the device is told to bring there next; then placed(). It
  // is there from then on, unless everything else is about to be used: then the room is good for
  // one use only.
  View room(ExpertKey key);
  void placed(ExpertKey key);
  // What visit() kept and use() did not take may be given up again.
  void abandon();

  // Every record has a slot of its own, so nothing is ever given up.
  bool fits_all() const { return fits_all_; }
  bool complete(uint32_t layer) const {
    return fits_all_ && layers_[layer].there == layers_[layer].experts;
  }
  // The first record that is missing, from the one that was found last on.
  std::optional<ExpertKey> missing();
  // Of a complete layer: where its records lie (Device::place_record).
  View table(uint32_t layer) const;
  bool wants_router() const { return eviction_->wants_router(); }
  // Threads: any.
  uint32_t slots() const { return static_cast<uint32_t>(key_of_.size()); }
  uint32_t records() const { return records_.load(std::memory_order_relaxed); }

 private:
  static constexpr uint32_t kNowhere = UINT32_MAX;
  struct Layer {
    uint32_t first = 0;  // number of its first record
    uint32_t experts = 0;
    uint32_t there = 0;
    uint32_t size_class = 0;
  };
  struct Class {
    uint64_t record_bytes = 0;
    uint32_t first_slot = 0;  // slots are numbered class by class
    uint32_t slots = 0;
    uint32_t used = 0;           // the first ones
    uint32_t first_segment = 0;  // of memory_; behind the slots there is one that is not kept
    uint32_t slots_of_segment = 0;
  };

  explicit DeviceCache(Device& device) : device_(device) {}
  uint32_t number_of(ExpertKey key) const {
    return layers_[static_cast<size_t>(key.layer)].first + static_cast<uint32_t>(key.expert);
  }
  View view_of(const Class& size, uint32_t slot) const;
  void release(uint32_t slot);

  Device& device_;
  std::vector<Buffer> memory_;  // in segments: no driver has to give all of it at once
  Buffer tables_;               // an address for each record, layer by layer
  std::vector<Layer> layers_;   // by LayerId; no experts for a dense layer
  std::vector<Class> classes_;
  std::vector<uint32_t> slot_of_;  // by record number
  std::vector<ExpertKey> key_of_;  // by slot
  std::vector<uint32_t> kept_;     // slots that visit() keeps
  std::unique_ptr<Eviction> eviction_;
  uint32_t next_missing_ = 0;
  bool fits_all_ = false;
  std::atomic<uint32_t> records_{0};  // that are there
};

}  // namespace smoe
