#include "stream/disk_probe.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>
#include <vector>

#include "base/aligned.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/guard.h"
#include "base/rng.h"
#include "base/units.h"
#include "stream/reader.h"
#include "stream/uring_reader.h"
#include "stream/vault_files.h"

namespace smoe {
namespace {

constexpr uint64_t kSequentialBytes = 4 * kMiB;  // of a read

// Numbers the blocks of several files.
class Blocks {
 public:
  Blocks(std::span<const uint64_t> file_bytes, uint64_t block_bytes) : block_bytes_(block_bytes) {
    for (uint32_t file = 0; file < file_bytes.size(); ++file)
      for (uint64_t at = 0; at + block_bytes <= file_bytes[file]; at += block_bytes)
        places_.push_back({file, at});
  }
  uint64_t count() const { return places_.size(); }
  uint64_t block_bytes() const { return block_bytes_; }
  ReadRequest read(uint64_t index, std::span<std::byte> into) const {
    ReadRequest request;
    request.file = places_[index].file;
    request.offset = places_[index].offset;
    request.into = into.first(block_bytes_);
    request.fresh = true;
    return request;
  }

 private:
  struct Place {
    uint32_t file = 0;
    uint64_t offset = 0;
  };
  uint64_t block_bytes_;
  std::vector<Place> places_;
};

struct Measured {
  double bytes_per_second = 0;
  uint64_t latency_ns = 0;
};

// What one thread has read.
struct Share {
  uint64_t bytes = 0;
  std::vector<uint64_t> times_ns;
  std::optional<Error> error;
};

// Reads blocks for a while in several threads.
class Measurement {
 public:
  enum class Order : uint8_t { kRandom, kSequential };

  Measurement(RecordFiles& files, const Blocks& blocks, Order order, uint64_t time_ns)
      : files_(files), blocks_(blocks), order_(order), time_ns_(time_ns) {}

  Result<Measured> run(unsigned readers) {
    const uint64_t block_bytes = blocks_.block_bytes();
    SMOE_TRY(const AlignedBuffer memory, AlignedBuffer::allocate(readers * block_bytes));
    const uint64_t began_ns = now_ns();
    deadline_ns_ = began_ns + time_ns_;
    std::vector<Share> shares(readers);
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < readers; ++i)
      threads.emplace_back([&, i] {
        read_blocks(memory.bytes().subspan(i * block_bytes, block_bytes), Rng(i + 1), shares[i]);
      });
    for (std::thread& thread : threads) thread.join();
    return sum_of(shares, seconds_between(began_ns, now_ns()));
  }

 private:
  void read_blocks(std::span<std::byte> into, Rng rng, Share& share) {
    uint64_t begin_ns = now_ns();
    while (begin_ns < deadline_ns_) {
      const uint64_t index = order_ == Order::kRandom
                                 ? rng.below(blocks_.count())
                                 : next_.fetch_add(1, std::memory_order_relaxed) % blocks_.count();
      if (Status status = read_block(blocks_.read(index, into)); !status) {
        share.error = std::move(status).error();
        return;
      }
      const uint64_t end_ns = now_ns();
      share.bytes += into.size();
      share.times_ns.push_back(end_ns - begin_ns);
      begin_ns = end_ns;
    }
  }

  Status read_block(ReadRequest request) {
    while (!request.into.empty()) {
      SMOE_TRY(const size_t got, files_.read(request));
      if (got == 0) return Error{Code::kCorrupt, "a file became shorter while it was read"};
      request.offset += got;
      request.into = request.into.subspan(got);
    }
    return {};
  }

  static Result<Measured> sum_of(std::span<Share> shares, double seconds) {
    Measured measured;
    std::vector<uint64_t> times_ns;
    for (Share& share : shares) {
      if (share.error) return *std::move(share.error);
      measured.bytes_per_second += static_cast<double>(share.bytes) / std::max(seconds, 1e-9);
      times_ns.insert(times_ns.end(), share.times_ns.begin(), share.times_ns.end());
    }
    const auto middle = times_ns.begin() + static_cast<std::ptrdiff_t>(times_ns.size() / 2);
    std::nth_element(times_ns.begin(), middle, times_ns.end());
    if (middle != times_ns.end()) measured.latency_ns = *middle;
    return measured;
  }

  RecordFiles& files_;
  const Blocks& blocks_;
  const Order order_;
  const uint64_t time_ns_;
  uint64_t deadline_ns_ = 0;
  std::atomic<uint64_t> next_{0};  // of the sequence
};

Result<DiskSpeed> measure_disk(std::span<const std::filesystem::path> files,
                               const DiskProbeOptions& options) {
  std::vector<uint64_t> sizes;
  for (const std::filesystem::path& file : files) {
    SMOE_TRY(const File opened, File::open(file));
    SMOE_TRY(const uint64_t bytes, opened.size());
    sizes.push_back(bytes);
  }
  const uint64_t largest = sizes.empty() ? 0 : *std::max_element(sizes.begin(), sizes.end());
  const auto block = [&](uint64_t wanted) {
    return std::min(wanted, largest) / kPageBytes * kPageBytes;
  };
  if (block(options.block_bytes) == 0)
    return Error{Code::kUsage, "no file of 16 KiB or more to read for the probe"};
  SMOE_TRY(const std::unique_ptr<VaultFiles> opened, VaultFiles::open(files, true));

  using Order = Measurement::Order;
  DiskSpeed speed;
  speed.block_bytes = block(options.block_bytes);
  const Blocks random(sizes, speed.block_bytes);
  const Blocks sequence(sizes, block(kSequentialBytes));
  const auto measure = [&](const Blocks& blocks, Order order, unsigned readers) {
    return Measurement(*opened, blocks, order, options.time_ns).run(readers);
  };
  SMOE_TRY(const Measured alone, measure(random, Order::kRandom, 1));
  SMOE_TRY(const Measured many, measure(random, Order::kRandom, options.readers));
  SMOE_TRY(const Measured sweep, measure(sequence, Order::kSequential, options.readers));
  speed.latency_ns = alone.latency_ns;
  speed.random_bytes_per_second = std::max(alone.bytes_per_second, many.bytes_per_second);
  speed.sequential_bytes_per_second = sweep.bytes_per_second;
  speed.direct = true;
  for (uint32_t file = 0; file < opened->count(); ++file)
    speed.direct = speed.direct && opened->direct(file);
  return speed;
}

}  // namespace

Result<DiskSpeed> probe_disk(std::span<const std::filesystem::path> files,
                             const DiskProbeOptions& options) {
  return guarded([&] { return measure_disk(files, options); });
}

Status probe_uring(const std::filesystem::path& file) {
  return guarded([&]() -> Status {
    SMOE_TRY(std::unique_ptr<VaultFiles> files, VaultFiles::open({&file, 1}, true));
    auto reader = open_uring_reader(files, 1);
    if (!reader) return std::move(reader).error();
    return {};
  });
}

}  // namespace smoe
