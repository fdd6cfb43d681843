#include "devices/cpu/scratch.h"

#include <algorithm>

#include "base/units.h"

namespace smoe::cpu {
namespace {

constexpr size_t kAlignment = 64;

// Hands out consecutive pieces; with no memory behind it, it only counts.
class Carver {
 public:
  explicit Carver(std::byte* base) : base_(base) {}

  template <class T>
  T* take(size_t count) {
    T* piece = base_ == nullptr ? nullptr : reinterpret_cast<T*>(base_ + used_);
    used_ += align_up(count * sizeof(T), kAlignment);
    return piece;
  }
  size_t used() const { return used_; }

 private:
  std::byte* base_;
  size_t used_ = 0;
};

size_t carve(std::byte* base, const Scratch::Prepared& prepared, unsigned threads,
             Scratch& scratch) {
  const size_t widest = align_up(size_t{scratch.limits.widest}, size_t{kTileRows});
  const size_t rows = std::min(scratch.limits.rows, kSweepRows);
  scratch.hidden_stride = widest;
  scratch.quantized_bytes =
      ceil_div(widest, size_t{kQuantBlock}) * prepared.kernels.quantizer.block_bytes;
  if (prepared.rounded)
    scratch.quantized_bytes = std::max(scratch.quantized_bytes, widest * sizeof(float));
  // One head is at most as wide as all heads together; usual ones (128, 256) all fit.
  scratch.query_floats = std::max(widest, size_t{kMaxQueries} * 256);

  Carver carver(base);
  scratch.float_rows = carver.take<const std::byte*>(rows);
  scratch.quantized_rows = carver.take<const std::byte*>(rows);
  scratch.quantized = carver.take<std::byte>(rows * scratch.quantized_bytes);
  scratch.gate = carver.take<float>(rows * widest);
  scratch.up = carver.take<float>(rows * widest);
  scratch.sequences = carver.take<SequenceRun>(scratch.limits.rows);
  scratch.workers = carver.take<WorkerScratch>(threads);
  for (unsigned worker = 0; worker < threads; ++worker) {
    const WorkerScratch own = {
        .tiles = carver.take<float>(size_t{kGroupTiles} * kBlockCols * kTileRows),
        .queries = carver.take<float>(scratch.query_floats),
        .sums = carver.take<float>(scratch.query_floats),
        .scores = carver.take<float>(size_t{kMaxQueries} * kStepPositions)};
    if (base != nullptr) scratch.workers[worker] = own;
  }
  return align_up(carver.used(), kPageBytes);
}

}  // namespace

size_t Scratch::bytes_for(const Device::Limits& limits, const Prepared& prepared,
                          unsigned threads) {
  Scratch counted;
  counted.limits = limits;
  return carve(nullptr, prepared, threads, counted);
}

Result<Scratch> Scratch::allocate(const Device::Limits& limits, const Prepared& prepared,
                                  unsigned threads) {
  Scratch scratch;
  scratch.limits = limits;
  SMOE_TRY(scratch.memory, AlignedBuffer::allocate(bytes_for(limits, prepared, threads)));
  carve(scratch.memory.data(), prepared, threads, scratch);
  return scratch;
}

}  // namespace smoe::cpu
