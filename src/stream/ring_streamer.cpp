#include "stream/ring_streamer.h"

#include <algorithm>
#include <utility>

#include "base/aligned.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/units.h"
#include "stream/counter.h"

namespace smoe {
namespace {

constexpr uint32_t kMostTokensToBetFor = 8;

}  // namespace

Result<std::unique_ptr<RingStreamer>> RingStreamer::make(Catalog catalog,
                                                         const StreamerOptions& options,
                                                         std::unique_ptr<Reader> reader) {
  auto records = std::make_unique<Catalog>(std::move(catalog));
  SMOE_TRY(auto ring,
           Ring::make(*records, options.slots, options.eviction,
                      Arrivals::bytes_for(records->largest_read_bytes(), options.readers)));
  return std::make_unique<RingStreamer>(std::move(records), std::move(ring), options,
                                        std::move(reader));
}

RingStreamer::RingStreamer(std::unique_ptr<Catalog> catalog, std::unique_ptr<Ring> ring,
                           const StreamerOptions& options, std::unique_ptr<Reader> reader)
    : catalog_(std::move(catalog)),
      ring_(std::move(ring)),
      loader_(*catalog_, *ring_, signal_, options.verify, options.attempts, options.readers),
      demands_(*catalog_),
      observer_(options.observer),
      readers_(options.readers),
      timeout_ns_(options.read_timeout_ns),
      lends_(catalog_->records()),
      reader_(std::move(reader)) {
  for (uint32_t slot = 0; slot < ring_->slots(); ++slot) ring_bytes_ += ring_->bytes(slot).size();
  if (timeout_ns_ > 0 && !reader_->keeps_deadlines()) timer_.emplace(signal_);
  reader_->start(loader_, ring_->memory());
}

RingStreamer::~RingStreamer() {
  loader_.stop();
  reader_->stop();
}

// Residents first, so that no missing record takes the slot of one that comes later in `keys`.
void RingStreamer::demand(std::span<const ExpertKey> keys, const RouterNumbers& router) {
  drain();
  fit_ring();
  visit(keys, router);
  for (const ExpertKey key : keys) {
    const uint32_t record = catalog_->find(key);
    demands_.add(record);
    if (const uint32_t slot = ring_->slot_of(record); slot != kNoSlot) join(record, slot);
  }
  for (const ExpertKey key : keys) {
    const uint32_t record = catalog_->find(key);
    if (ring_->slot_of(record) == kNoSlot) find_slot(record);
  }
  if (!keys.empty()) ring_->drop_bets(0, keys.front().layer);  // what was not asked for is stale
  add(demanded_, keys.size());
  wake_reader();
}

// Tells everybody who learns from what is demanded, layer by layer, before anything is given up.
void RingStreamer::visit(std::span<const ExpertKey> keys, const RouterNumbers& router) {
  for (size_t begin = 0; begin < keys.size();) {
    size_t end = begin + 1;
    while (end < keys.size() && keys[end].layer == keys[begin].layer) ++end;
    const bool whole = begin == 0 && end == keys.size();
    const LayerVisit one{keys[begin].layer, keys.subspan(begin, end - begin),
                         whole ? router : RouterNumbers{}};
    ring_->visit(one);
    if (observer_ != nullptr) observer_->visited(one);
    begin = end;
  }
  // A prompt waits in another way, and nobody bets for it.
  const uint64_t waited = std::exchange(waited_ns_, 0);
  if (router.tokens <= kMostTokensToBetFor) governor_.visited(waited);
}

// A record that is resident, or whose read is under way or queued.
void RingStreamer::join(uint32_t record, uint32_t slot) {
  const bool was_bet = ring_->hold(slot);
  if (!ring_->in_flight(slot)) {
    demands_.set_ready(record);
    add(hits_, 1);
  } else if (promote(slot)) {
    return;
  } else {
    add(joins_, 1);
  }
  if (was_bet) {
    add(bets_used_, 1);
    add(bet_bytes_used_, ring_->bytes(slot).size());
  }
}

// A slot now, or a place among those that wait. Records that were demanded earlier go first.
void RingStreamer::find_slot(uint32_t record) {
  if (demands_.first_waiting(catalog_->size_class(record)) == kNoRecord &&
      read_into(place_for(record)))
    return;
  demands_.set_waiting(record);
}

// Nothing is given up for a read that could not start soon: until then more of the layer's
// residents have been computed, and the choice is larger. (Replaying traces, a ring of 6 % of the
// records loses 1.6 to 3 points of its hits when all eight demands of a layer hold slots at once.)
// The spare ones keep the disk busy while the step takes note of what has ended.
Ring::Place RingStreamer::place_for(uint32_t record) {
  constexpr size_t kSpare = 2;
  const bool free = ring_->has_free_slot(catalog_->size_class(record));
  if (!free && demands_.reading() > readers_ + kSpare) return {};
  return ring_->take_for_demand(record);
}

// False when there is no slot, or no room in the queue. The latter only happens while a reader is
// held up in the middle of taking a job; it raises the signal when it goes on.
bool RingStreamer::read_into(Ring::Place place) {
  if (place.slot == kNoSlot) return false;
  if (!loader_.queue_demand(place)) {
    queue_was_full_ = true;
    take_back(place);
    return false;
  }
  ++queued_;
  return true;
}

// Moves a queued bet among the demands. False when its read has begun: then it is joined. The job
// that stays in the queue of bets is stale once this one has started, and the other way round.
// Without room in the queue the bet loses its slot, and the demand finds one like any other.
bool RingStreamer::promote(uint32_t slot) {
  const Slot now = ring_->word(slot).load();
  if (now.phase != Phase::kEmpty || now.key == kNoKey) return false;  // begun, or failed already
  if (loader_.queue_demand({slot, now})) {
    ++queued_;
    return true;
  }
  return take_back({slot, now});
}

// Gives up a reservation that no reader has started. False when one has.
bool RingStreamer::take_back(Ring::Place place) {
  if (!ring_->word(place.slot).apply_to(place.reserved, Event::kEvict)) return false;
  ring_->release(place.slot);
  return true;
}

void RingStreamer::bet(std::span<const ExpertKey> keys) {
  drain();
  if (demands_.waiting() > 0 || !governor_.allows()) return;
  if (!keys.empty()) ring_->drop_bets(++bet_round_, kNoKey.layer);
  for (const ExpertKey key : keys) {
    const uint32_t record = catalog_->find(key);
    if (ring_->slot_of(record) != kNoSlot) continue;
    const Ring::Place place = ring_->take_for_bet(record, bet_round_);
    if (place.slot == kNoSlot) continue;
    if (!loader_.queue_bet(place)) {
      take_back(place);
      break;
    }
    ++queued_;
  }
  wake_reader();
}

void RingStreamer::warm(std::span<const ExpertKey> keys) {
  drain();
  for (const ExpertKey key : keys) {
    const uint32_t record = catalog_->find(key);
    if (ring_->slot_of(record) != kNoSlot) continue;
    const Ring::Place place = ring_->take_to_warm(record);
    if (place.slot == kNoSlot) continue;
    if (!loader_.queue_bet(place)) {
      take_back(place);
      break;
    }
    ++queued_;
  }
  wake_reader();
}

bool RingStreamer::tend() {
  drain();
  wake_reader();
  return ring_->in_flight() > 0;
}

Result<Lease> RingStreamer::next_ready(Pick pick) {
  SMOE_CHECK(demands_.outstanding() > 0);
  uint64_t wait_began = 0;
  uint64_t arrivals = arrivals_;
  uint64_t deadline = 0;
  for (;;) {
    const uint32_t seen = signal_.seen();
    drain();
    if (std::optional<Result<Lease>> result = try_lend(pick)) {
      if (wait_began != 0) {
        const uint64_t waited = now_ns() - wait_began;
        waited_ns_ += waited;
        add(wait_ns_, waited);
      }
      if (timer_) timer_->clear();
      return std::move(*result);
    }
    const uint64_t now = now_ns();
    if (wait_began == 0) wait_began = now;
    if (timeout_ns_ > 0 && (deadline == 0 || arrivals != arrivals_)) {
      arrivals = arrivals_;
      deadline = now + timeout_ns_;
      if (timer_) timer_->set(deadline);
    } else if (timeout_ns_ > 0 && now >= deadline) {
      failure_ = late();
      continue;
    }
    reader_->wait(signal_, seen, deadline);
  }
}

// Nothing when it is worth waiting.
std::optional<Result<Lease>> RingStreamer::try_lend(Pick pick) {
  if (cancelled_.load(std::memory_order_relaxed))
    return Error{Code::kCancelled, "reading experts was cancelled"};
  if (failure_) return *failure_;
  uint32_t record = demands_.first_ready();
  if (pick == Pick::kFirst) {
    record = demands_.first();
    if (demands_.state(record) != Demands::State::kReady) {
      read_in_order();
      record = kNoRecord;
    }
  }
  if (record != kNoRecord) return lend(record);
  if (ring_->in_flight() == 0 && !queue_was_full_) return no_slot_left();
  return {};
}

Lease RingStreamer::lend(uint32_t record) {
  const uint32_t slot = ring_->slot_of(record);
  const ExpertKey key = catalog_->key(record);
  SMOE_CHECK(ring_->word(slot).apply(Event::kPin, key));
  demands_.remove(record);
  const uint32_t before = lends_[record].load(std::memory_order_relaxed);
  lends_[record].store(before + 1, std::memory_order_relaxed);
  return {this, slot, key, ring_->bytes(slot)};
}

void RingStreamer::release(uint32_t slot) {
  const ExpertKey key = catalog_->key(ring_->record_of(slot));
  const std::optional<Slot> left = ring_->word(slot).apply(Event::kUnpin, key);
  SMOE_CHECK(left);
  if (left->pins == 0) settle(slot);
  if (!ring_fits_) fit_ring();
  drain();
}

// A resident slot without lease: kept while its record is demanded, else anybody's.
void RingStreamer::settle(uint32_t slot) {
  if (demands_.state(ring_->record_of(slot)) == Demands::State::kNone) ring_->offer(slot);
}

void RingStreamer::drain() {
  reader_->reap();
  queue_was_full_ = false;
  Loader::Completion end;
  while (loader_.pop(end)) on_end(end);
  give_slots();
}

void RingStreamer::on_end(const Loader::Completion& end) {
  const uint32_t slot = end.slot;
  const uint32_t record = ring_->record_of(slot);
  const bool demanded = demands_.state(record) == Demands::State::kReading;
  ring_->end_flight(slot);
  note_busy(end);
  if (!end.filled) {
    ring_->release(slot);
    if (demanded && end.urgent) {
      if (!failure_) failure_ = loader_.error(slot);
      demands_.set_failed(record);
    } else if (demanded) {
      demands_.set_waiting(record);  // a bet that was joined: now it has a demand's attempts
    }
  } else if (demanded) {
    demands_.set_ready(record);
    ++arrivals_;
  } else if (ring_->is_bet(slot)) {
    ring_->keep_as_bet(slot);
  } else {
    ring_->offer(slot);
  }
}

// Adds what of this read's time no earlier end has covered. Reads end about in the order in which
// they began, so little is missed.
void RingStreamer::note_busy(const Loader::Completion& end) {
  const uint64_t began = std::max(end.began_ns, busy_until_ns_);
  if (end.ended_ns <= began) return;
  add(disk_busy_ns_, end.ended_ns - began);
  busy_until_ns_ = end.ended_ns;
}

void RingStreamer::give_slots() {
  if (demands_.waiting() == 0) return;
  for (uint32_t i = 0; i < catalog_->classes().size(); ++i) {
    for (uint32_t record = demands_.first_waiting(i); record != kNoRecord;
         record = demands_.first_waiting(i)) {
      if (!read_into(place_for(record))) break;
      demands_.set_reading(record);
    }
  }
  wake_reader();
}

// The caller takes records in order and has to wait for the first, while records demanded later may
// sit in all slots, where they keep the earlier ones out. They give way, the last one first, as far
// as the readers look ahead; the first record gets its slot in any case.
void RingStreamer::read_in_order() {
  for (uint32_t i = 0; i < catalog_->classes().size(); ++i) {
    for (uint32_t record = demands_.first_waiting(i); record != kNoRecord;
         record = demands_.first_waiting(i)) {
      const bool ahead = demands_.among_first(record, 2 * size_t{readers_});
      if (record != demands_.first() && (!ahead || ring_->in_flight() >= readers_)) break;
      if (!take_from_later(record)) break;
    }
  }
  wake_reader();
}

bool RingStreamer::take_from_later(uint32_t record) {
  for (uint32_t later = demands_.before(kNoRecord); later != record;
       later = demands_.before(later)) {
    if (demands_.state(later) != Demands::State::kReady) continue;
    if (catalog_->size_class(later) != catalog_->size_class(record)) continue;
    const uint32_t slot = ring_->slot_of(later);
    if (ring_->word(slot).load().pins > 0) continue;
    demands_.set_waiting(later);  // it is read again
    if (!read_into(ring_->take_held(slot, record))) return false;
    demands_.set_reading(record);
    return true;
  }
  return false;
}

void RingStreamer::abandon() {
  while (const std::optional<uint32_t> slot = loader_.withdraw_demand()) ring_->release(*slot);
  for (uint32_t record = demands_.first(); record != kNoRecord; record = demands_.first()) {
    const bool ready = demands_.state(record) == Demands::State::kReady;
    demands_.remove(record);
    const uint32_t slot = ring_->slot_of(record);
    if (ready && ring_->word(slot).load().pins == 0) ring_->offer(slot);
  }
  failure_.reset();
  wake_reader();
}

// After every change of what readers may take.
void RingStreamer::wake_reader() {
  if (loader_.hold_bets(demands_.waiting() > 0)) queued_ += ring_->slots();
  if (queued_ > 0) reader_->wake(std::exchange(queued_, 0));
}

void RingStreamer::limit_ring(uint64_t bytes) {
  ring_limit_.store(bytes, std::memory_order_relaxed);
}

void RingStreamer::fit_ring() {
  const uint64_t limit = ring_limit_.load(std::memory_order_relaxed);
  if (limit == fitted_to_ && ring_fits_) return;
  fitted_to_ = limit;
  ring_fits_ = true;
  for (uint32_t i = 0; i < catalog_->classes().size(); ++i) fit_class(i, limit);
}

// Each class keeps the same share of its slots.
void RingStreamer::fit_class(uint32_t size_class, uint64_t limit_bytes) {
  const double share =
      std::min(1.0, static_cast<double>(limit_bytes) / static_cast<double>(ring_bytes_));
  const uint32_t slots = ring_->slots_of(size_class);
  const auto wanted =
      std::max<uint32_t>(2, static_cast<uint32_t>(share * static_cast<double>(slots)));
  while (ring_->slots_in_use(size_class) > wanted) {
    const uint32_t slot = ring_->retire(size_class);
    if (slot == kNoSlot) {
      ring_fits_ = false;
      return;
    }
    reader_->forget(ring_->bytes(slot));
    give_back_pages(ring_->bytes(slot));
    add(slots_retired_, 1);
  }
  while (ring_->slots_in_use(size_class) < wanted && ring_->revive(size_class)) {
  }
}

void RingStreamer::cancel() {
  cancelled_.store(true, std::memory_order_relaxed);
  signal_.raise();
  reader_->rouse();
}

void RingStreamer::clear_cancel() { cancelled_.store(false, std::memory_order_relaxed); }

bool RingStreamer::resident(ExpertKey key) const {
  const uint32_t slot = ring_->slot_of(catalog_->find(key));
  return slot != kNoSlot && !ring_->in_flight(slot);
}

void RingStreamer::look(FunctionRef<void(const RecordSight& sight)> see) const {
  for (uint32_t number = 0; number < ring_->slots(); ++number) {
    const Slot slot = ring_->word(number).load();
    if (slot.key == kNoKey) continue;
    const uint32_t lends = lends_[catalog_->find(slot.key)].load(std::memory_order_relaxed);
    RecordState state = RecordState::kLoading;
    if (slot.phase == Phase::kReady) state = RecordState::kFresh;
    if (slot.phase == Phase::kConsumed) state = RecordState::kUsed;
    see({slot.key, state, lends});
  }
}

StreamStats RingStreamer::stats() const {
  constexpr auto kRelaxed = std::memory_order_relaxed;
  const Loader::Counters loads = loader_.counters();
  StreamStats stats;
  stats.demands = demanded_.load(kRelaxed);
  stats.hits = hits_.load(kRelaxed);
  stats.joins = joins_.load(kRelaxed);
  stats.bets = loads.bets;
  stats.bets_used = bets_used_.load(kRelaxed);
  stats.reads = loads.reads;
  stats.bytes_read = loads.bytes_read;
  stats.retries = loads.retries;
  stats.read_ns = loads.read_ns;
  stats.retiled_bytes = loads.retiled_bytes;
  stats.retile_ns = loads.retile_ns;
  stats.wait_ns = wait_ns_.load(kRelaxed);
  stats.disk_busy_ns = disk_busy_ns_.load(kRelaxed);
  stats.bet_bytes_used = bet_bytes_used_.load(kRelaxed);
  stats.bet_bytes_wasted = ring_->wasted_bytes();
  stats.rescues = loads.rescues;
  stats.ring_slots = ring_->slots_in_use();
  stats.slots_retired = slots_retired_.load(kRelaxed);
  return stats;
}

std::string RingStreamer::description() const {
  return reader_->description() + ", " + ring_->description();
}

// Only a caller that holds leases can get here: with none, a demanded record is ready or in flight.
Error RingStreamer::no_slot_left() const {
  return {Code::kUsage, catalog_->name(demands_.first()) +
                            ": cannot be read while all slots of its size are lent"};
}

Error RingStreamer::late() const {
  return {Code::kIo, catalog_->name(demands_.first()) + ": not read within " +
                         std::to_string(timeout_ns_ / 1'000'000) +
                         " ms (the disk does not answer)"};
}

}  // namespace smoe
