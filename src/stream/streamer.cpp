#include "stream/streamer.h"

#include <new>
#include <string>
#include <system_error>

#include "base/log.h"
#include "stream/pread_reader.h"
#include "stream/ring_streamer.h"
#include "stream/uring_reader.h"

namespace smoe {

Lease::~Lease() {
  if (streamer_ != nullptr) streamer_->release(slot_);
}

namespace {

struct Choice {
  std::unique_ptr<Reader> reader;
  std::string why;  // of a choice that was not the first
};

Result<Choice> choose_reader(const Catalog& catalog, const StreamerOptions& options) {
  const bool direct = options.direct && options.io != IoEngine::kBuffered;
  SMOE_TRY(auto files, VaultFiles::open(catalog.paths(), direct));
  std::string why;
  // Rows are brought into tiles by whoever reads them: threads do it beside the step's.
  const bool retiles = catalog.largest_read_bytes() > 0;
  if ((options.io == IoEngine::kAuto && !retiles) || options.io == IoEngine::kUring) {
    auto reader = open_uring_reader(files, options.readers);
    if (reader) return Choice{std::move(*reader), ""};
    if (options.io == IoEngine::kUring || reader.error().code != Code::kUnsupported)
      return Error{reader.error().code, reader.error().message + " (--io pread works without)"};
    why = " (" + reader.error().message + ")";
  }
  return Choice{std::make_unique<PreadReader>(std::move(files), options.readers), std::move(why)};
}

Result<std::unique_ptr<Streamer>> open_streamer(std::span<const VaultFile> layers,
                                                const StreamerOptions& wishes) {
  SMOE_TRY(Catalog catalog, Catalog::of(layers, wishes.mirror));
  StreamerOptions options = wishes;
  // Each drive has its own queue to keep filled.
  if (catalog.largest_read_bytes() == 0) options.readers *= catalog.drives();
  SMOE_TRY(Choice choice, choose_reader(catalog, options));
  SMOE_TRY(std::unique_ptr<Streamer> streamer,
           RingStreamer::make(std::move(catalog), options, std::move(choice.reader)));
  log::info("experts are read by {}{}", streamer->description(), choice.why);
  return streamer;
}

}  // namespace

// The standard library reports missing memory and threads by throwing.
Result<std::unique_ptr<Streamer>> Streamer::open(std::span<const VaultFile> layers,
                                                 const StreamerOptions& options) {
  try {
    return open_streamer(layers, options);
  } catch (const std::bad_alloc&) {
    return Error{Code::kNoMemory, "there is no memory for the ring's tables"};
  } catch (const std::system_error& error) {
    return Error{Code::kNoMemory, "cannot start " + std::to_string(options.readers) +
                                      " reader threads: " + error.code().message() +
                                      " (raise the limit with: ulimit -u)"};
  }
}

}  // namespace smoe
