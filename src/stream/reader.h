// What a read engine does, and whom it serves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "stream/request_queue.h"

namespace smoe {

// Bets under way at once: enough to keep a disk busy, and little for a demand to stand behind.
inline constexpr uint32_t kMostBets = 2;

// No engine holds more requests than this, from take() to the finish() that ends them: those under
// way, and those that have ended and made room already.
constexpr uint32_t most_requests(unsigned readers) {
  return 2 * ((readers > 1 ? readers : 1) + kMostBets);
}

struct ReadRequest {
  uint32_t slot = 0;  // names the request; one at a time is under way for a slot
  uint32_t file = 0;
  uint64_t offset = 0;
  std::span<std::byte> into;
  uint64_t delay_ns = 0;  // to wait before the read: a retry's back-off
  bool fresh = false;     // not from the page cache, where that can be had
  bool bet = false;       // nobody waits for it yet
};

// Who has records to read. Threads: the engine's own, any number at once. Cost: finish() checks the
// record's checksum.
class ReadClient {
 public:
  enum class Kind : uint8_t { kDemand, kAny };
  virtual ~ReadClient() = default;

  // Fills in the next read to start, demands first. False when there is none of that kind now;
  // wake() follows when there is.
  virtual bool take(ReadRequest& request, Kind kind) = 0;

  // `request` ended with this many bytes from its offset on (0: the file ends there) or an error.
  // True when `request` now holds another read that belongs to it and is to be done next: the rest
  // of a short read, or a retry.
  virtual bool finish(ReadRequest& request, const Result<size_t>& got) = 0;

  // A file was opened anew: what was checked before may be something else now.
  virtual void distrust() {}
};

// A read engine. It takes requests when it has room for them, so a demand overtakes every bet that
// was not started. An engine reads in threads of its own, or has none and is driven by the step's
// thread, which calls reap() and wait(). It does not retry and does not check: the client does, for
// all engines alike.
class Reader {
 public:
  virtual ~Reader() = default;

  // Called once. All reads go into `memory`. Lifetime: both outlive stop().
  virtual void start(ReadClient& client, std::span<std::byte> memory) = 0;
  // `requests` more can be taken. Threads: the step's own. Cost: no waiting.
  virtual void wake(uint32_t requests) = 0;
  // Takes nothing more; returns when the reads under way have ended, as the kernel writes into
  // their memory until then.
  virtual void stop() = 0;

  // Pages of this part of the memory are about to be given back to the system, and no read of them
  // is under way. Threads: the step's own.
  virtual void forget(std::span<std::byte> /*memory*/) {}

  // Reports the reads that have ended by now. Threads: the step's own. Cost: no waiting.
  virtual void reap() {}
  // Sleeps until `ended` was raised after `seen`, a read has ended or rouse() was called. May
  // return early. Threads: the step's own.
  virtual void wait(const Signal& ended, uint32_t seen, uint64_t /*deadline_ns*/) {
    ended.wait(seen);
  }
  // Whether wait() also returns at the deadline (0: none); else somebody must raise `ended` then.
  virtual bool keeps_deadlines() const { return false; }
  // Ends wait() where raising the signal does not. Threads: any.
  virtual void rouse() {}

  // "pread, direct, 4 readers"
  virtual std::string description() const = 0;
};

}  // namespace smoe
