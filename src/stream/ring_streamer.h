// The Streamer: demands and bets of the step's thread, matched with slots of the ring and with the
// reads of an engine.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "stream/bet_governor.h"
#include "stream/catalog.h"
#include "stream/deadline_timer.h"
#include "stream/demands.h"
#include "stream/loader.h"
#include "stream/reader.h"
#include "stream/ring.h"
#include "stream/streamer.h"

namespace smoe {

// The step's thread alone decides which record gets which slot; ends of reads are reported through
// a queue, which every call of the step's thread empties first. Where the engine has no threads it
// is the same thread that fills the queue, just before.
class RingStreamer final : public Streamer {
 public:
  // As Streamer::open, reading through `reader`, which was not started yet.
  static Result<std::unique_ptr<RingStreamer>> make(Catalog catalog, const StreamerOptions& options,
                                                    std::unique_ptr<Reader> reader);
  // For make(), which has made the ring. Lifetime: `ring` refers to `*catalog`.
  RingStreamer(std::unique_ptr<Catalog> catalog, std::unique_ptr<Ring> ring,
               const StreamerOptions& options, std::unique_ptr<Reader> reader);
  // Waits for the reads under way, as they write into the ring.
  ~RingStreamer() override;
  RingStreamer(const RingStreamer&) = delete;
  RingStreamer& operator=(const RingStreamer&) = delete;

  using Streamer::demand;
  void demand(std::span<const ExpertKey> keys, const RouterNumbers& router) override;
  bool wants_router() const override { return observer_ != nullptr || ring_->wants_router(); }
  void bet(std::span<const ExpertKey> keys) override;
  void warm(std::span<const ExpertKey> keys) override;
  bool tend() override;
  Result<Lease> next_ready(Pick pick) override;
  size_t outstanding() const override { return demands_.outstanding(); }
  void abandon() override;
  void cancel() override;
  void clear_cancel() override;
  void limit_ring(uint64_t bytes) override;
  void fit_ring() override;
  uint64_t touched_bytes() const override { return ring_->touched_bytes(); }
  bool resident(ExpertKey key) const override;
  uint32_t lends(ExpertKey key) const override {
    return lends_[catalog_->find(key)].load(std::memory_order_relaxed);
  }
  StreamStats stats() const override;
  void look(FunctionRef<void(const RecordSight& sight)> see) const override;
  std::span<std::byte> memory() override { return ring_->memory(); }
  std::string description() const override;

 private:
  void release(uint32_t slot) override;

  void visit(std::span<const ExpertKey> keys, const RouterNumbers& router);
  void join(uint32_t record, uint32_t slot);
  void find_slot(uint32_t record);
  Ring::Place place_for(uint32_t record);
  bool read_into(Ring::Place place);
  bool promote(uint32_t slot);
  bool take_back(Ring::Place place);
  void drain();
  void on_end(const Loader::Completion& end);
  void give_slots();
  void read_in_order();
  bool take_from_later(uint32_t record);
  void settle(uint32_t slot);
  void wake_reader();
  void fit_class(uint32_t size_class, uint64_t limit_bytes);
  std::optional<Result<Lease>> try_lend(Pick pick);
  Lease lend(uint32_t record);
  void note_busy(const Loader::Completion& end);
  Error no_slot_left() const;
  Error late() const;

  std::unique_ptr<Catalog> catalog_;
  std::unique_ptr<Ring> ring_;
  Signal signal_;  // raised by every ending that next_ready() may wait for
  Loader loader_;
  Demands demands_;
  std::optional<Error> failure_;  // of the demands that are outstanding
  VisitObserver* const observer_;
  BetGovernor governor_;
  uint64_t bet_round_ = 0;
  uint64_t waited_ns_ = 0;      // since the last visit of a layer
  uint64_t busy_until_ns_ = 0;  // the latest end of a read
  bool queue_was_full_ = false;
  uint32_t queued_ = 0;      // reads queued since the readers were woken
  uint64_t arrivals_ = 0;    // demanded records that became READY
  uint64_t ring_bytes_ = 0;  // of all slots
  uint64_t fitted_to_ = UINT64_MAX;
  bool ring_fits_ = true;  // false: slots that had to stay are still too many
  std::atomic<uint64_t> ring_limit_{UINT64_MAX};  // relaxed: a wish
  const uint32_t readers_;
  const uint64_t timeout_ns_;
  std::atomic<bool> cancelled_{false};  // relaxed: signal_ orders it

  // Read by stats() in other threads; they order nothing.
  std::atomic<uint64_t> demanded_{0};
  std::atomic<uint64_t> hits_{0};
  std::atomic<uint64_t> joins_{0};
  std::atomic<uint64_t> bets_used_{0};
  std::atomic<uint64_t> bet_bytes_used_{0};
  std::atomic<uint64_t> wait_ns_{0};
  std::atomic<uint64_t> slots_retired_{0};
  std::atomic<uint64_t> disk_busy_ns_{0};
  std::vector<std::atomic<uint32_t>> lends_;  // by record; changed by the step's thread alone

  // Last, so that their threads end before anything that they use.
  std::optional<DeadlineTimer> timer_;
  std::unique_ptr<Reader> reader_;
};

}  // namespace smoe
