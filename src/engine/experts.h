// Runs a layer's routed experts for a batch. The step asks this interface and does not know where
// the experts run: here, from the ring, or later on the rank that owns them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "compute/device.h"
#include "engine/device_cache.h"
#include "engine/importance.h"
#include "engine/router.h"
#include "formats/vault_file.h"
#include "stream/streamer.h"

namespace smoe {

// The same for a device that chooses the experts itself.
struct RoutedExpertsCall {
  uint32_t layer = 0;
  uint32_t active_experts = 0;
  Rows in;
  Rows routing;  // as Device::route() left it
  Rows shared;   // the shared expert's output, or empty
  Rows hidden;   // room for a row of each token's each expert
  Rows outputs;
  Rows onto;  // the weighted outputs and `shared` are added to it
};

struct ExpertsCall {
  uint32_t layer = 0;
  const Routing* routing = nullptr;
  Rows in;      // normed hidden state of the batch
  Rows out;     // the weighted outputs are added to it, in ascending expert id
  Rows direct;  // room for the outputs of one expert
  Rows held;    // room for outputs that came before their turn
  bool checked =
      false;  // look for the expert whose output is not finite (slow; after a numeric error)
  Importance* importance = nullptr;  // hears of the experts' inputs
};

class Experts {
 public:
  virtual ~Experts() = default;
  // Asks for the union of `routing`; returns at once, so that other work can overlap with the
  // reads.
  virtual void demand(uint32_t layer, const Routing& routing) = 0;
  // Says what `layer` will probably need; changes no result.
  virtual void bet(uint32_t layer, const Routing& routing) = 0;
  // Whether the device has all of the layer's records, so that run_routed() does what demand() and
  // run() do, without the host's knowing which experts are run.
  virtual bool complete(uint32_t /*layer*/) const { return false; }
  virtual void run_routed(const RoutedExpertsCall& /*call*/) {}
  // Size of one of the layer's records.
  virtual uint64_t record_bytes(uint32_t layer) const = 0;
  // Computes what was demanded. Fails: kIo, kCorrupt, kCancelled, kNumeric (checked only).
  virtual Status run(const ExpertsCall& call) = 0;
};

// Experts that stream from this machine's vault through the ring.
class LocalExperts : public Experts {
 public:
  // `layers` are the vault's files, `slots` those of each class of record size; the streamer was
  // opened on the same. `cache`: on a device with memory of its own, else none.
  // Fails: kNoMemory.
  static Result<std::unique_ptr<LocalExperts>> open(std::span<const VaultFile> layers,
                                                    std::span<const uint32_t> slots,
                                                    Streamer& streamer, Device& device,
                                                    std::unique_ptr<DeviceCache> cache);

  void demand(uint32_t layer, const Routing& routing) override;
  void bet(uint32_t layer, const Routing& routing) override;
  uint64_t record_bytes(uint32_t layer) const override { return layers_[layer].record_bytes; }
  Status run(const ExpertsCall& call) override;
  bool complete(uint32_t layer) const override { return cache_ && cache_->complete(layer); }
  void run_routed(const RoutedExpertsCall& call) override;

  // Brings up to `most` records that the device has room for and lacks; false when it lacks none.
  // Not during a step. Fails: as run().
  Result<bool> fill(uint32_t most);
  const DeviceCache* cache() const { return cache_.get(); }

 private:
  // Where a layer's records have their matrices.
  struct LayerRecords {
    Segment gate, up, down;
    uint64_t record_bytes = 0;
  };
  struct Held {
    uint32_t row = 0;  // of ExpertsCall::held
    bool waiting = false;
    bool taken = false;
    bool cached = false;  // on the device when the layer was demanded
  };

  LocalExperts(Streamer& streamer, Device& device) : streamer_(streamer), device_(device) {}
  Status run_all(const ExpertsCall& call);
  // The next member to compute: its lease, or none where the device has it.
  struct Ready {
    uint32_t member = 0;
    std::optional<Lease> lease;
  };
  Result<Ready> next_ready(const ExpertsCall& call, uint32_t turn, bool room);
  Status compute(const ExpertsCall& call, Ready ready, Rows out);
  // Where the device finds a leased record.
  View record_of(const Lease& lease);
  Status keep_until_used(Lease lease);
  // Waits for what the device does with leased records, then ends the leases.
  Status end_leases();
  // None of the records that are still to come is there.
  bool must_wait(const ExpertsCall& call) const;
  static Matrix matrix(const Segment& segment, View record);
  void add(const ExpertsCall& call, const Routing::Member& member, Rows outputs);

  Streamer& streamer_;
  Device& device_;
  Buffer ring_;                       // the streamer's memory, seen by the device
  std::vector<LayerRecords> layers_;  // by layer
  std::vector<ExpertKey> keys_;       // of the union being demanded
  std::vector<uint32_t> member_of_;   // expert -> index in Routing::members
  std::vector<Held> held_;            // by member
  std::vector<float> check_values_;
  // Records that the device may still be reading: up to half of the smallest class of slots, so
  // that the others can be filled meanwhile.
  std::vector<Lease> leases_;
  size_t most_leases_ = 1;
  Ticket last_use_{};
  std::unique_ptr<DeviceCache> cache_;
  std::vector<ExpertKey> missing_;  // of the union: not on the device
};

}  // namespace smoe
