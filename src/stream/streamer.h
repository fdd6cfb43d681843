// Brings expert records from the vault into the ring and lends them out.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/thread_pool.h"
#include "formats/vault_file.h"
#include "stream/eviction.h"
#include "stream/expert_key.h"
#include "stream/layer_visit.h"
#include "stream/lease.h"

namespace smoe {

enum class Verify : uint8_t {
  kAlways,  // every read
  kFirst,   // the first read of a record in this run
  kNever,
};

enum class IoEngine : uint8_t {
  kAuto,      // io_uring where it works, else pread
  kUring,     // or an error
  kPread,     // threads
  kBuffered,  // threads, through the page cache
};

// Sees what every step demands, as it is demanded. Threads: the step's own.
class VisitObserver {
 public:
  virtual ~VisitObserver() = default;
  virtual void visited(const LayerVisit& visit) = 0;
};

struct StreamerOptions {
  // Slots of each class of record size, smallest record first; see record_classes(). Every class
  // needs at least two.
  std::vector<uint32_t> slots;
  IoEngine io = IoEngine::kAuto;
  unsigned readers = 4;  // reads under way at once
  EvictionPolicy eviction = EvictionPolicy::kFitted;
  Verify verify = Verify::kFirst;
  int attempts = 3;  // of a failed read, with back-off
  // next_ready() fails when it has waited so long without a demanded record arriving; 0: no
  // deadline.
  uint64_t read_timeout_ns = 0;
  // The same layers elsewhere: read when a file fails or a checksum is wrong, and where they lie on
  // another drive, half of all reads go there.
  std::vector<VaultFile> mirror;
  bool direct = true;                 // O_DIRECT where the file system has it
  VisitObserver* observer = nullptr;  // outlives the streamer
};

// The distinct record sizes of a vault and how many records have each.
struct RecordClass {
  uint64_t record_bytes = 0;
  uint64_t records = 0;
};
std::vector<RecordClass> record_classes(std::span<const VaultFile> layers);
// What a streamer takes of memory besides its slots: buffers for rows that are not tiles yet.
uint64_t arrival_bytes(std::span<const VaultFile> layers, unsigned readers);

struct StreamStats {
  uint64_t demands = 0;    // records asked for by demand()
  uint64_t hits = 0;       // of these, READY when asked for
  uint64_t joins = 0;      // of these, being read already
  uint64_t bets = 0;       // bets that were started
  uint64_t bets_used = 0;  // of these, later demanded
  uint64_t reads = 0;      // records read
  uint64_t bytes_read = 0;
  uint64_t retries = 0;
  uint64_t read_ns = 0;  // summed over reads
  // Rows that were brought into tiles as they arrived (none of a vault's), and the time of it.
  uint64_t retiled_bytes = 0;
  uint64_t retile_ns = 0;
  uint64_t wait_ns = 0;  // next_ready() blocked
  // At least one read was under way. An engine without threads notes the end of a read when the
  // step looks, between two experts, so this is an upper limit.
  uint64_t disk_busy_ns = 0;
  // Bytes that were read for bets, used or pushed out unused; those that are still there to be used
  // are in neither.
  uint64_t bet_bytes_used = 0;
  uint64_t bet_bytes_wasted = 0;
  uint64_t ring_slots = 0;  // in use now
  uint64_t rescues = 0;     // records that came from a mirror after a fault, or the other way round
  uint64_t slots_retired = 0;  // how often one was given back to the system

  // Disk time that cost nothing because the step computed meanwhile; as much of the computing was
  // hidden behind the disk.
  uint64_t overlap_ns() const { return disk_busy_ns > wait_ns ? disk_busy_ns - wait_ns : 0; }
};

// A record that has a slot of the ring, for people to look at.
enum class RecordState : uint8_t {
  kLoading,  // is read, or waits to be
  kFresh,    // there, and not lent since it was read: just in time, or a bet
  kUsed,     // there, and lent before
};
struct RecordSight {
  ExpertKey key;
  RecordState state = RecordState::kLoading;
  uint32_t lends = 0;  // since the streamer was opened, modulo 2^32
};

class Streamer {
 public:
  enum class Pick : uint8_t {
    kAny,    // whichever demanded record is ready
    kFirst,  // the first demanded one that has not been lent yet, in the order of demand()
  };

  // `layers` are the MoE layers' files in any order (info().layer is the LayerId of their records).
  // Opens the files, allocates the ring and starts the readers.
  // Fails: kNoMemory, kIo, kUsage (fewer than two slots in a class, naming the smallest that
  // works).
  static Result<std::unique_ptr<Streamer>> open(std::span<const VaultFile> layers,
                                                const StreamerOptions& options);
  virtual ~Streamer() = default;

  // Asks for records that this step needs, all different; reads start in this order. A record that
  // is resident is protected until lent; one that is being read is joined; a queued bet is
  // promoted. The union may be larger than the ring: the rest starts as leases end. Threads:
  // demand, bet, next_ready, abandon and the end of a Lease: the step's own. Cost: no allocation,
  // no waiting.
  // `router` helps to choose what to give up, where wants_router() says so and all keys are of one
  // layer; it changes no result.
  virtual void demand(std::span<const ExpertKey> keys, const RouterNumbers& router) = 0;
  void demand(std::span<const ExpertKey> keys) { demand(keys, RouterNumbers{}); }
  virtual bool wants_router() const = 0;

  // Asks for records that a later step may need. May be dropped, and changes no result. Never takes
  // a slot that a demand could use, never starts while demands wait; one that has not started is
  // dropped when its layer is demanded without it, or when the next bets come. Ignored altogether
  // while bets are found to make the step wait longer than it would without.
  virtual void bet(std::span<const ExpertKey> keys) = 0;

  // Fills free slots with records that are likely wanted some time, the likeliest first, while the
  // disk has nothing else to do. Changes no result.
  virtual void warm(std::span<const ExpertKey> keys) = 0;
  // Looks after reads while no step runs, as an engine without threads needs; false when there is
  // none. Threads: as fit_ring().
  virtual bool tend() = 0;

  // Waits for a demanded record and pins it. Each demanded record is lent exactly once.
  // Progress: with Pick::kAny whenever the caller holds no lease, and kFirst otherwise, every
  // demand is served however small the ring (two slots). Fails: kIo, kCorrupt (naming file, layer
  // and expert), kCancelled. After a failure call abandon().
  virtual Result<Lease> next_ready(Pick pick) = 0;

  // Demanded records not lent yet.
  virtual size_t outstanding() const = 0;

  // Forgets all demands not lent yet; reads in flight end on their own.
  virtual void abandon() = 0;

  // Wakes next_ready() with kCancelled, now and until clear_cancel(). Threads: any.
  virtual void cancel() = 0;
  virtual void clear_cancel() = 0;

  // Says how many bytes of the ring may be in use: the rest goes back to the system, slot by slot,
  // at once where a slot is not needed now, or as soon as it is not. Two slots of each size stay. A
  // larger number brings slots back, empty. Changes no result. Threads: any.
  virtual void limit_ring(uint64_t bytes) = 0;
  // Does so now, while no step runs. Threads: the step's own, or another that the caller keeps from
  // running at the same time as a step.
  virtual void fit_ring() = 0;
  // Bytes of the ring that are backed by memory. Threads: any.
  virtual uint64_t touched_bytes() const = 0;

  virtual bool resident(ExpertKey key) const = 0;
  // How often a record was lent, modulo 2^32. Threads: any.
  virtual uint32_t lends(ExpertKey key) const = 0;
  virtual StreamStats stats() const = 0;
  // Calls `see` for each slot that is kept for a record. Slots change meanwhile: each is seen as it
  // was at some moment of the call. Threads: any.  Cost: one load a slot.
  virtual void look(FunctionRef<void(const RecordSight& sight)> see) const = 0;
  // The ring's memory, so that a device can use it in place, and a record's offset in it.
  virtual std::span<std::byte> memory() = 0;
  // One line for the log: engine, direct or buffered, readers, slots.
  virtual std::string description() const = 0;

 private:
  friend class Lease;
  virtual void release(uint32_t slot) = 0;
};

}  // namespace smoe
