// What a read engine does, and whom it serves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"

namespace smoe {

struct ReadRequest {
  uint32_t slot = 0;  // names the request; one at a time is under way for a slot
  uint32_t file = 0;
  uint64_t offset = 0;
  std::span<std::byte> into;
  uint64_t delay_ns = 0;  // to wait before the read: a retry's back-off
  bool fresh = false;     // not from the page cache, where that can be had
};

// Who has records to read. Threads: the engine's own, any number at once. Cost: finish() checks the
// record's checksum.
class ReadClient {
 public:
  virtual ~ReadClient() = default;

  // Fills in the next read to start. False when there is none now; wake() follows when there is.
  virtual bool take(ReadRequest& request) = 0;

  // `request` ended with this many bytes from its offset on (0: the file ends there) or an error.
  // True when `request` now holds another read that belongs to it and is to be done next: the rest
  // of a short read, or a retry.
  virtual bool finish(ReadRequest& request, const Result<size_t>& got) = 0;
};

// A read engine. It takes requests when it has room for them, so a demand overtakes every bet that
// was not started. An engine may read in threads of its own, or submit to the kernel and complete
// later in any order. It does not retry and does not check: the client does, for all engines alike.
class Reader {
 public:
  virtual ~Reader() = default;

  // Called once. Lifetime: `client` outlives stop().
  virtual void start(ReadClient& client) = 0;
  // `requests` more can be taken. Threads: any. Cost: no waiting.
  virtual void wake(uint32_t requests) = 0;
  // Takes nothing more; returns when the reads under way have ended, as the kernel writes into
  // their memory until then.
  virtual void stop() = 0;

  // "pread, direct, 4 readers"
  virtual std::string description() const = 0;
};

}  // namespace smoe
