// A device: a dozen operations on buffers, in order. The CPU does them at once, a GPU records and
// submits. A device knows shapes and bytes, never models, layers or files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "compute/calls.h"
#include "compute/tensor.h"

namespace smoe {

// Names a point in the order of operations.
enum class Ticket : uint64_t {};

class Device : public Buffer::Owner {
 public:
  virtual std::string_view name() const = 0;    // "cpu"
  virtual std::string description() const = 0;  // for people: "CPU, AVX2, 2 threads"
  // Operations are done some time after submit(), not before they return.
  virtual bool deferred() const = 0;

  // Zeroed memory. Fails: kNoMemory.
  virtual Result<Buffer> allocate(size_t bytes) = 0;
  // Host memory used in place where host and device share it; elsewhere the device has memory of
  // its own for it, and refresh() brings it bytes. Lifetime: `host` outlives the buffer.
  virtual Result<Buffer> adopt(std::span<std::byte> host) = 0;
  // The host has changed adopted bytes; what is recorded from now on sees them. Until it is done
  // with them (a ticket), they stay as they are. Cost: none where memory is shared.
  virtual void refresh(View changed, size_t bytes) = 0;

  // Whether store_kv() and attend() take pages of such a type and size of head. Every device keeps
  // f32.
  virtual bool keeps(KvType type, uint32_t head_dim) const {
    return type == KvType::kF32 && head_dim > 0;
  }
  // Whether host and device share memory, so that adopt() costs nothing.
  virtual bool shares_memory() const { return true; }
  // Bytes of the device's own memory that may be used; 0 where it shares the host's.
  virtual uint64_t memory_bytes() const { return 0; }
  // Of a device with memory of its own: host memory that upload() takes bytes from. Lifetime: as
  // adopt().
  virtual Result<Buffer> adopt_source(std::span<std::byte> host) { return adopt(host); }
  // Brings bytes of such memory to the device; until it is done with them, they stay as they are.
  virtual void upload(View /*to*/, View /*source*/, size_t /*bytes*/) {}

  // Largest rows count that one call may have, and scratch is sized for: set once at start-up, so
  // that the operations below allocate nothing. Fails: kNoMemory.
  struct Limits {
    uint32_t rows = 1;     // of a batch
    uint32_t widest = 0;   // row that is read: model, queries, FFN hidden; not the vocabulary,
                           // because outputs need no scratch
    uint32_t context = 0;  // positions that one token may attend to
  };
  // Bytes that reserve() will take, for the memory plan.
  virtual size_t scratch_bytes(const Limits& limits) const = 0;
  virtual Status reserve(const Limits& limits) = 0;

  // Threads: one at a time (the step's own). Cost: no allocation after reserve().
  virtual void write(View to, std::span<const std::byte> from) = 0;
  virtual void zero(const Rows& rows) = 0;
  virtual void embed(const EmbedCall& call) = 0;
  virtual void normalize(const NormCall& call) = 0;
  virtual void project(const ProjectCall& call) = 0;
  virtual void rotate(const RotateCall& call) = 0;
  virtual void store_kv(const StoreKvCall& call) = 0;
  virtual void attend(const AttendCall& call) = 0;
  virtual void run_expert(const ExpertCall& call) = 0;
  virtual void accumulate(const AccumulateCall& call) = 0;
  virtual void gather(const GatherCall& call) = 0;
  // The operations that it is made of, one after the other; a device may do them at once.
  virtual void prepare_heads(const HeadsCall& call) {
    const uint32_t head_dim = call.pages.head_dim;
    if (call.query_norm)
      normalize({call.query, call.query_norm, head_dim, call.epsilon, call.query});
    if (call.key_norm) normalize({call.key, call.key_norm, head_dim, call.epsilon, call.key});
    rotate({call.query, call.heads, head_dim, call.dims, call.angles});
    rotate({call.key, call.pages.kv_heads, head_dim, call.dims, call.angles});
    store_kv({call.key, call.value, call.pages, call.places, call.page_table});
  }

  // Chooses experts itself and runs them without the host: the operations below. Elsewhere the host
  // routes, and they are not called.
  virtual bool routes() const { return false; }
  virtual void route(const RouteCall& /*call*/) {}
  // table[index] = where `record` lies on the device. `table` has 8 bytes an entry.
  virtual void place_record(View /*table*/, uint32_t /*index*/, View /*record*/) {}
  virtual void run_routed(const RoutedCall& /*call*/) {}

  // Everything recorded so far is on its way; buffers read by it may be reused once finished() says
  // so (a lease on a record is released on it).
  virtual Ticket submit() = 0;
  virtual bool finished(Ticket ticket) const = 0;
  // Fails: as read().
  virtual Status wait(Ticket ticket) = 0;
  // Waits for everything before it. out.size() == from.count * from.width; rows are packed without
  // stride. Fails: kNoMemory, kIo when the device could not do what was recorded (it was lost, or
  // has no memory left); then so does every later wait.
  virtual Status read(const Rows& from, std::span<float> out) = 0;
};

}  // namespace smoe
