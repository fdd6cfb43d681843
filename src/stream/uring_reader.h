// The read engine of Linux: io_uring, driven by the step's thread alone.
#pragma once

#include <memory>

#include "base/result.h"
#include "stream/reader.h"
#include "stream/vault_files.h"

namespace smoe {

// Takes reads out of the kernel's hands, so that a test can make them fail, be short, late or stuck
// while everything else stays as it is.
class ReadDetour {
 public:
  virtual ~ReadDetour() = default;
  // The read begins. A descriptor that becomes readable when it has ended. Cost: no waiting.
  virtual int depart(const ReadRequest& request) = 0;
  // It has: how.
  virtual Result<size_t> arrive(const ReadRequest& request) = 0;
};

// At most `depth` demands are in the kernel at once, and bets only while it has less to do than
// that, so a demand never stands behind a row of bets. No thread: the step's own submits, reaps and
// sleeps in the kernel. The files are registered, and the ring's memory piece by piece, as far as
// the limit on locked memory goes.
// Takes `files` only when it succeeds. Fails: kUnsupported (no io_uring, forbidden, or a first read
// through it did not give the file's bytes), saying why.
Result<std::unique_ptr<Reader>> open_uring_reader(std::unique_ptr<VaultFiles>& files,
                                                  unsigned depth,
                                                  std::unique_ptr<ReadDetour> detour = nullptr);

}  // namespace smoe
