// What happens to one record between the moment when it may be read and the moment when it is READY
// or given up: the two queues, short reads, retries, the checksum, rows that become tiles.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "stream/arrivals.h"
#include "stream/catalog.h"
#include "stream/reader.h"
#include "stream/request_queue.h"
#include "stream/ring.h"
#include "stream/slot.h"
#include "stream/streamer.h"

namespace smoe {

class Loader final : public ReadClient {
 public:
  // The end of a read, whichever way.
  struct Completion {
    uint32_t slot = 0;
    bool filled = false;
    bool urgent = false;  // was read as a demand, with all attempts
    uint64_t began_ns = 0;
    uint64_t ended_ns = 0;
  };
  struct Counters {
    uint64_t bets = 0;
    uint64_t reads = 0;
    uint64_t bytes_read = 0;
    uint64_t retries = 0;
    uint64_t read_ns = 0;
    uint64_t retiled_bytes = 0;
    uint64_t retile_ns = 0;
    uint64_t rescues = 0;  // records that came from the other copy after a fault
  };

  // Every completion raises `signal`. Lifetime: all three outlive the loader.
  Loader(const Catalog& catalog, Ring& ring, Signal& signal, Verify verify, int attempts,
         unsigned readers);

  // Threads: the step's own. False when the queue has no room now.
  bool queue_demand(Ring::Place place) { return demands_.push({place.slot, place.reserved}); }
  bool queue_bet(Ring::Place place) { return bets_.push({place.slot, place.reserved}); }
  // While demands wait for slots no bet is started. True when bets may have waited for this.
  bool hold_bets(bool held) {
    return bets_held_.exchange(held, std::memory_order_relaxed) && !held;
  }
  // A queued demand that no reader has started, taken out of the queue and its slot emptied.
  std::optional<uint32_t> withdraw_demand();
  bool pop(Completion& completion) { return completions_.pop(completion); }
  // Of a slot that was not filled, until its completion's record is asked for again.
  const Error& error(uint32_t slot) const { return loads_[slot].error; }
  // No retry and no new read from now on. Threads: any.
  void stop() { stopping_.store(true, std::memory_order_relaxed); }
  // Threads: any.
  Counters counters() const;

  // Threads: the engine's.
  bool take(ReadRequest& request, Kind kind) override;
  bool finish(ReadRequest& request, const Result<size_t>& got) override;
  void distrust() override;

 private:
  struct Job {
    uint32_t slot = 0;
    Slot reserved;  // the slot's word when the job was queued; any change since makes it stale
  };
  // Belongs to whoever made the slot LOADING, until its completion is popped.
  struct Load {
    uint32_t record = 0;
    int failures = 0;
    bool urgent = false;
    int mismatches = 0;  // wrong checksums
    bool from_mirror = false;
    bool rescued = false;  // the other copy is read because the first one failed
    uint64_t began_ns = 0;
    Error error{};
    // Of a record that is read in pieces: the one that is read now, and where it arrives.
    RowPiece piece{};
    uint32_t buffer = 0;
    uint64_t retile_ns = 0;
  };

  bool bet_may_start() const;
  bool start(const Job& job, bool urgent, ReadRequest& request);
  void aim(ReadRequest& request) const;
  bool arrived(ReadRequest& request);
  bool retry(ReadRequest& request, const Error& error);
  bool check(ReadRequest& request);
  // Of the copy that is read: that one is intact says nothing of the other.
  size_t checked_bit(const Load& load) const;
  bool needs_check(const Load& load) const;
  bool turn_to_other_copy(Load& load, const std::string& reason);
  bool complete(uint32_t slot, bool filled);

  const Catalog& catalog_;
  Ring& ring_;
  Signal& signal_;
  const Verify verify_;
  const int attempts_;
  const uint32_t most_bets_;
  RequestQueue<Job> demands_;
  RequestQueue<Job> bets_;
  RequestQueue<Completion> completions_;
  Arrivals arrivals_;
  std::vector<Load> loads_;  // by slot
  std::vector<std::atomic<uint64_t>>
      checked_;  // a bit a record and copy: its checksum was right once

  // None of these orders memory: the slot words and the queues do.
  std::atomic<bool> bets_held_{false};
  std::atomic<bool> stopping_{false};
  std::atomic<uint32_t> demands_under_way_{0};
  std::atomic<uint32_t> bets_under_way_{0};
  std::atomic<uint64_t> bets_started_{0};
  std::atomic<uint64_t> reads_{0};
  std::atomic<uint64_t> bytes_read_{0};
  std::atomic<uint64_t> retries_{0};
  std::atomic<uint64_t> read_ns_{0};
  std::atomic<uint64_t> retiled_bytes_{0};
  std::atomic<uint64_t> retile_ns_{0};
  std::atomic<uint64_t> rescues_{0};
};

}  // namespace smoe
