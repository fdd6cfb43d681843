#include "stream/streamer.h"

#include "base/log.h"
#include "stream/pread_reader.h"
#include "stream/ring_streamer.h"

namespace smoe {

Lease::~Lease() {
  if (streamer_ != nullptr) streamer_->release(slot_);
}

Result<std::unique_ptr<Streamer>> Streamer::open(std::span<const VaultFile> layers,
                                                 const StreamerOptions& options) {
  SMOE_TRY(Catalog catalog, Catalog::of(layers));
  SMOE_TRY(auto files, VaultFiles::open(catalog.paths(), options.direct));
  SMOE_TRY(std::unique_ptr<Streamer> streamer,
           RingStreamer::make(std::move(catalog), options,
                              std::make_unique<PreadReader>(std::move(files), options.readers)));
  log::info("experts are read by {}", streamer->description());
  return streamer;
}

}  // namespace smoe
