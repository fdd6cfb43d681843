#include "stream/streamer.h"

#include <new>
#include <string>
#include <system_error>

#include "base/log.h"
#include "stream/pread_reader.h"
#include "stream/ring_streamer.h"

namespace smoe {

Lease::~Lease() {
  if (streamer_ != nullptr) streamer_->release(slot_);
}

namespace {

Result<std::unique_ptr<Streamer>> open_pread_streamer(std::span<const VaultFile> layers,
                                                      const StreamerOptions& options) {
  SMOE_TRY(Catalog catalog, Catalog::of(layers));
  SMOE_TRY(auto files, VaultFiles::open(catalog.paths(), options.direct));
  SMOE_TRY(std::unique_ptr<Streamer> streamer,
           RingStreamer::make(std::move(catalog), options,
                              std::make_unique<PreadReader>(std::move(files), options.readers)));
  log::info("experts are read by {}", streamer->description());
  return streamer;
}

}  // namespace

// The standard library reports missing memory and threads by throwing.
Result<std::unique_ptr<Streamer>> Streamer::open(std::span<const VaultFile> layers,
                                                 const StreamerOptions& options) {
  try {
    return open_pread_streamer(layers, options);
  } catch (const std::bad_alloc&) {
    return Error{Code::kNoMemory, "there is no memory for the ring's tables"};
  } catch (const std::system_error& error) {
    return Error{Code::kNoMemory, "cannot start " + std::to_string(options.readers) +
                                      " reader threads: " + error.code().message() +
                                      " (raise the limit with: ulimit -u)"};
  }
}

}  // namespace smoe
