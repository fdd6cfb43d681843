#include "stream/loader.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/checksum.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/units.h"
#include "stream/counter.h"

namespace smoe {
namespace {

constexpr uint64_t kFirstBackOffNs = 1'000'000;
constexpr uint64_t kLastBackOffNs = 100'000'000;

uint64_t back_off_ns(int failures) {
  uint64_t delay = kFirstBackOffNs;
  for (int i = 1; i < failures && delay < kLastBackOffNs; ++i) delay *= 10;
  return std::min(delay, kLastBackOffNs);
}

}  // namespace

// A queue may hold jobs that went stale, hence twice the slots: at most one a slot is alive, and a
// promoted bet leaves one behind only until a reader comes by.
Loader::Loader(const Catalog& catalog, Ring& ring, Signal& signal, Verify verify, int attempts,
               unsigned readers)
    : catalog_(catalog),
      ring_(ring),
      signal_(signal),
      verify_(verify),
      attempts_(std::max(attempts, 1)),
      most_bets_(std::clamp(readers / 2, 1U, kMostBets)),
      demands_(2 * size_t{ring.slots()} + readers),
      bets_(2 * size_t{ring.slots()} + readers),
      completions_(size_t{ring.slots()} + 1),
      arrivals_(catalog.largest_read_bytes(), readers, ring.arrival_memory()),
      loads_(ring.slots()),
      checked_(ceil_div(size_t{catalog.records()} * (catalog.has_mirror() ? 2 : 1), size_t{64})) {}

std::optional<uint32_t> Loader::withdraw_demand() {
  Job job;
  while (demands_.pop(job)) {
    if (ring_.word(job.slot).apply_to(job.reserved, Event::kEvict)) return job.slot;
  }
  return {};
}

Loader::Counters Loader::counters() const {
  constexpr auto kRelaxed = std::memory_order_relaxed;
  return {bets_started_.load(kRelaxed), reads_.load(kRelaxed),   bytes_read_.load(kRelaxed),
          retries_.load(kRelaxed),      read_ns_.load(kRelaxed), retiled_bytes_.load(kRelaxed),
          retile_ns_.load(kRelaxed),    rescues_.load(kRelaxed)};
}

bool Loader::take(ReadRequest& request, Kind kind) {
  Job job;
  while (!stopping_.load(std::memory_order_relaxed)) {
    if (demands_.pop(job)) {
      if (start(job, true, request)) return true;
    } else if (kind == Kind::kAny && bet_may_start() && bets_.pop(job)) {
      if (start(job, false, request)) return true;
    } else {
      return false;
    }
  }
  return false;
}

// Bets fill the time in which the disk would have nothing to do, or its last demand. Nobody has to
// be woken when that changes: it does at the end of a read, whose reader comes back here.
bool Loader::bet_may_start() const {
  constexpr auto kRelaxed = std::memory_order_relaxed;
  return !bets_held_.load(kRelaxed) && demands_under_way_.load(kRelaxed) <= 1 &&
         bets_under_way_.load(kRelaxed) < most_bets_;
}

// The exchange fails for a bet that was promoted and started already, withdrawn, or whose slot went
// to a demand.
bool Loader::start(const Job& job, bool urgent, ReadRequest& request) {
  const std::optional<Slot> loading = ring_.word(job.slot).apply_to(job.reserved, Event::kStart);
  if (!loading) {
    signal_.raise();  // the step may be waiting for room in the queue
    return false;
  }
  Load& load = loads_[job.slot];
  load.record = catalog_.find(loading->key);
  load.failures = 0;
  load.urgent = urgent;
  load.mismatches = 0;
  load.from_mirror = catalog_.prefers_mirror(load.record);
  load.rescued = false;
  load.began_ns = now_ns();
  request = ReadRequest{};
  request.slot = job.slot;
  request.bet = !urgent;
  if (!catalog_.is_stored(load.record)) {
    load.buffer = arrivals_.take();
    load.retile_ns = 0;
    load.piece = piece_at(catalog_.layout(load.record), catalog_.slices(load.record), 0, 0);
  }
  aim(request);
  if (!urgent) add(bets_started_, 1);
  (urgent ? demands_under_way_ : bets_under_way_).fetch_add(1, std::memory_order_relaxed);
  return true;
}

// At a record, or at the piece of one whose turn it is.
void Loader::aim(ReadRequest& request) const {
  const Load& load = loads_[request.slot];
  if (catalog_.is_stored(load.record)) {
    const uint32_t file = catalog_.file(load.record);
    request.file = load.from_mirror ? catalog_.mirror_of(file) : file;
    request.offset = catalog_.offset(load.record);
    request.into = ring_.bytes(request.slot);
    return;
  }
  request.file = load.piece.file;
  request.offset = load.piece.read_begin();
  request.into = arrivals_.buffer(load.buffer).first(load.piece.read_bytes());
}

bool Loader::finish(ReadRequest& request, const Result<size_t>& got) {
  if (!got) return retry(request, got.error());
  if (*got == 0)
    return retry(request,
                 {Code::kCorrupt, "the file ends at byte " + std::to_string(request.offset) + ", " +
                                      std::to_string(request.into.size()) + " more were expected"});
  SMOE_CHECK(*got <= request.into.size());
  add(bytes_read_, *got);
  request.delay_ns = 0;
  request.offset += *got;
  request.into = request.into.subspan(*got);
  if (!catalog_.is_stored(loads_[request.slot].record)) return arrived(request);
  if (!request.into.empty()) return true;  // a short read goes on where it broke off
  add(read_ns_, now_ns() - loads_[request.slot].began_ns);
  return check(request);
}

// Brings a piece into tiles and goes on with the next one. A read is rounded out beyond the rows,
// at the end of a file to bytes that are not there.
bool Loader::arrived(ReadRequest& request) {
  Load& load = loads_[request.slot];
  const RowPiece& piece = load.piece;
  if (request.offset < piece.offset + piece.bytes) return true;
  const RecordLayout& layout = catalog_.layout(load.record);
  const uint64_t began_ns = now_ns();
  Status packed = pack_piece(
      layout, piece,
      arrivals_.buffer(load.buffer).subspan(piece.offset - piece.read_begin(), piece.bytes),
      ring_.bytes(request.slot));
  const uint64_t packing_ns = now_ns() - began_ns;
  load.retile_ns += packing_ns;
  add(retile_ns_, packing_ns);
  add(retiled_bytes_, piece.bytes);
  if (!packed) {
    load.error = std::move(packed).error().in(catalog_.name(load.record, request.file));
    return complete(request.slot, false);
  }
  uint32_t segment = piece.segment;
  uint32_t tile = piece.first_tile + piece.tiles;
  if (tile * kTileRows >= layout.segments[segment].rows) {
    tile = 0;
    ++segment;
  }
  if (segment == layout.segments.size()) {
    add(read_ns_, now_ns() - load.began_ns - load.retile_ns);
    add(reads_, 1);
    return complete(request.slot, true);
  }
  load.piece = piece_at(layout, catalog_.slices(load.record), segment, tile);
  aim(request);
  return true;
}

// False when there is no other copy.
bool Loader::turn_to_other_copy(Load& load, const std::string& reason) {
  if (!catalog_.has_mirror()) return false;
  const uint32_t file = catalog_.file(load.record);
  const uint32_t failed = load.from_mirror ? catalog_.mirror_of(file) : file;
  load.from_mirror = !load.from_mirror;
  if (!std::exchange(load.rescued, true) && rescues_.fetch_add(1, std::memory_order_relaxed) == 0)
    log::warn("{}: {}; the other copy is read instead (said once)",
              catalog_.name(load.record, failed), reason);
  return true;
}

// Starts the record, or its piece, over after a pause. A bet has one attempt: it is cheaper to
// demand it later.
bool Loader::retry(ReadRequest& request, const Error& error) {
  Load& load = loads_[request.slot];
  ++load.failures;
  const int attempts = load.urgent ? attempts_ : 1;
  if (load.failures < attempts && !stopping_.load(std::memory_order_relaxed)) {
    add(retries_, 1);
    const bool other = turn_to_other_copy(load, error.message);
    aim(request);
    // The other copy has had no time to fail.
    if (!other || load.failures > 1) request.delay_ns = back_off_ns(load.failures);
    return true;
  }
  add(read_ns_, now_ns() - load.began_ns);
  const std::string tries =
      load.failures > 1 ? " (after " + std::to_string(load.failures) + " attempts)" : "";
  load.error = {error.code,
                catalog_.name(load.record, request.file) + ": " + error.message + tries};
  return complete(request.slot, false);
}

size_t Loader::checked_bit(const Load& load) const {
  return load.from_mirror ? size_t{catalog_.records()} + load.record : load.record;
}

bool Loader::needs_check(const Load& load) const {
  if (verify_ != Verify::kFirst) return verify_ == Verify::kAlways;
  const size_t bit = checked_bit(load);
  return (checked_[bit / 64].load(std::memory_order_relaxed) >> (bit % 64) & 1U) == 0;
}

void Loader::distrust() {
  for (std::atomic<uint64_t>& bits : checked_) bits.store(0, std::memory_order_relaxed);
}

// A mismatch is read again once, from the disk: the page cache or the transfer may be at fault.
// With a mirror the other copy comes first.
bool Loader::check(ReadRequest& request) {
  Load& load = loads_[request.slot];
  if (needs_check(load)) {
    const uint64_t wanted = catalog_.checksum(load.record);
    const uint64_t found = xxh3_64(ring_.bytes(request.slot));
    if (found != wanted) {
      const int most = catalog_.has_mirror() ? 2 : 1;
      if (load.mismatches < most && !stopping_.load(std::memory_order_relaxed)) {
        ++load.mismatches;
        turn_to_other_copy(load, "the checksum is wrong");
        load.began_ns = now_ns();
        add(retries_, 1);
        aim(request);
        request.fresh = true;
        return true;
      }
      load.error = {Code::kCorrupt, catalog_.name(load.record, request.file) +
                                        ": the checksum is " + checksum_text(found) +
                                        ", it should be " + checksum_text(wanted) +
                                        " (the file is damaged; shatter the checkpoint again)"};
      return complete(request.slot, false);
    }
    const size_t bit = checked_bit(load);
    checked_[bit / 64].fetch_or(uint64_t{1} << (bit % 64), std::memory_order_relaxed);
  }
  add(reads_, 1);
  return complete(request.slot, true);
}

bool Loader::complete(uint32_t slot, bool filled) {
  const Load& load = loads_[slot];
  if (!catalog_.is_stored(load.record)) arrivals_.give_back(load.buffer);
  const Completion completion{slot, filled, load.urgent, load.began_ns, now_ns()};
  const std::optional<Slot> ended =
      ring_.word(slot).apply(filled ? Event::kFill : Event::kFail, catalog_.key(load.record));
  SMOE_CHECK(ended);  // only its loader changes a LOADING slot
  (load.urgent ? demands_under_way_ : bets_under_way_).fetch_sub(1, std::memory_order_relaxed);
  SMOE_CHECK(completions_.push(completion));  // one a slot at most
  signal_.raise();
  return false;
}

}  // namespace smoe
