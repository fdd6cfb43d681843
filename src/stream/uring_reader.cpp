#include "stream/uring_reader.h"

#include <liburing.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <limits>
#include <thread>
#include <utility>
#include <vector>

#include "base/aligned.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/units.h"

namespace smoe {
namespace {

// Tags of submissions that are no reads; reads carry the index of their operation.
constexpr uint64_t kRouseTag = uint64_t{1} << 32U;
constexpr uint64_t kProbeTag = uint64_t{1} << 33U;

// Pieces in which the ring's memory is registered, each when it is first read into: pinning one
// costs about what the first reads into it would cost in page faults. The kernel allows 1 GiB.
constexpr size_t kPieceBytes = 64 * kMiB;

Error refused(const char* what, int code) {
  return {Code::kUnsupported,
          std::string("io_uring: ") + what + " failed: " + strerror(code < 0 ? -code : code)};
}

// The submission and completion queues.
class Queues {
 public:
  Queues() = default;
  Queues(const Queues&) = delete;
  Queues& operator=(const Queues&) = delete;
  ~Queues() {
    if (open_) io_uring_queue_exit(&ring_);
  }

  // Completions are handed over when the step's thread looks, instead of interrupting its
  // arithmetic; kernels before 5.19 do not have that.
  int open(unsigned entries) {
    int code =
        io_uring_queue_init(entries, &ring_, IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG);
    if (code == -EINVAL) code = io_uring_queue_init(entries, &ring_, 0);
    open_ = code == 0;
    return code;
  }

  io_uring* get() { return &ring_; }

 private:
  io_uring ring_{};
  bool open_ = false;
};

// The ring's memory as the kernel knows it.
class RegisteredMemory {
 public:
  void open(io_uring* queues, std::span<std::byte> memory) {
    queues_ = queues;
    memory_ = memory;
    const size_t pieces = ceil_div(memory.size(), kPieceBytes);
    works_ =
        pieces > 0 && io_uring_register_buffers_sparse(queues, static_cast<unsigned>(pieces)) == 0;
    registered_.assign(works_ ? pieces : 0, false);
    holed_.assign(registered_.size(), false);
    if (works_) register_piece(0);  // so that description() can say whether it works
  }

  // The registered piece that holds `into`. None for memory over a seam between two pieces, which
  // is one record in twenty at most, nor once the limit on locked memory is reached.
  int piece_of(std::span<const std::byte> into) {
    if (registered_.empty()) return -1;
    const auto begin = static_cast<size_t>(into.data() - memory_.data());
    const size_t piece = begin / kPieceBytes;
    if ((begin + into.size() - 1) / kPieceBytes != piece) return -1;
    if (!registered_[piece] && !holed_[piece] && works()) register_piece(piece);
    return registered_[piece] ? static_cast<int>(piece) : -1;
  }

  void close() {
    if (!registered_.empty()) io_uring_unregister_buffers(queues_);
    registered_.clear();
  }

  // The kernel holds on to the pages that it has registered: a read would go to them, and not to
  // those that have taken their place. A piece with a hole stays unregistered, as registering it
  // would fill the hole.
  void forget(std::span<const std::byte> part) {
    if (part.empty()) return;
    const auto begin = static_cast<size_t>(part.data() - memory_.data());
    const size_t last = (begin + part.size() - 1) / kPieceBytes;
    for (size_t piece = begin / kPieceBytes; piece <= last && piece < registered_.size(); ++piece) {
      holed_[piece] = true;
      if (!registered_[piece]) continue;
      const iovec nothing{nullptr, 0};
      const __u64 tag = 0;
      io_uring_register_buffers_update_tag(queues_, static_cast<unsigned>(piece), &nothing, &tag,
                                           1);
      registered_[piece] = false;
    }
  }

  // Threads: any.
  bool works() const { return works_.load(std::memory_order_relaxed); }

 private:
  void register_piece(size_t piece) {
    const size_t begin = piece * kPieceBytes;
    const iovec memory{memory_.data() + begin, std::min(kPieceBytes, memory_.size() - begin)};
    const __u64 tag = 0;
    const int code = io_uring_register_buffers_update_tag(queues_, static_cast<unsigned>(piece),
                                                          &memory, &tag, 1);
    registered_[piece] = code == 1;
    if (code == 1) return;
    works_.store(false, std::memory_order_relaxed);
    log::debug("io_uring: {} of the ring's memory is registered ({}), the rest is not",
               format_bytes(begin), strerror(code < 0 ? -code : code));
  }

  io_uring* queues_ = nullptr;
  std::span<std::byte> memory_;
  std::vector<bool> registered_;
  std::vector<bool> holed_;         // had pages that were given back
  std::atomic<bool> works_{false};  // orders nothing
};

class UringReader final : public Reader {
 public:
  UringReader(unsigned depth, std::unique_ptr<ReadDetour> detour)
      : depth_(std::max(depth, 1U)),
        bet_depth_(std::min(depth_, kMostBets)),
        operations_(most_requests(depth_)),
        detour_(std::move(detour)) {
    for (uint32_t i = 0; i < operations_.size(); ++i) free_.push_back(i);
    ended_.reserve(operations_.size());
  }
  UringReader(const UringReader&) = delete;
  UringReader& operator=(const UringReader&) = delete;
  ~UringReader() override {
    stop();
    if (rouser_ >= 0) ::close(rouser_);
  }

  Status open(VaultFiles& files);
  void adopt(std::unique_ptr<VaultFiles> files) { files_ = std::move(files); }

  void start(ReadClient& client, std::span<std::byte> memory) override {
    SMOE_CHECK(client_ == nullptr);
    client_ = &client;
    memory_.open(queues_.get(), memory);
  }
  void wake(uint32_t /*requests*/) override { fill(); }
  void forget(std::span<std::byte> memory) override { memory_.forget(memory); }
  void stop() override;
  void reap() override;
  void wait(const Signal& ended, uint32_t seen, uint64_t deadline_ns) override;
  bool keeps_deadlines() const override { return true; }
  void rouse() override;
  std::string description() const override;

 private:
  struct Operation {
    ReadRequest request;
    int result = 0;
    __kernel_timespec delay{};  // the kernel reads it
  };

  Status probe(VaultFiles& files);
  void fill();
  bool begin(ReadClient::Kind kind);
  void submit(uint32_t index);
  void submit_read(io_uring_sqe* entry, Operation& operation);
  void take_completions();
  void end(uint32_t index);
  void find_again(uint32_t file);
  Result<size_t> result_of(const Operation& operation);
  void arm_rouser();
  void sleep(__kernel_timespec* limit);

  const uint32_t depth_;
  const uint32_t bet_depth_;
  std::vector<Operation> operations_;
  std::vector<uint32_t> free_;   // operations
  std::vector<uint32_t> ended_;  // operations whose completion was taken
  uint32_t demands_ = 0;         // operations of demands
  uint32_t bets_ = 0;
  std::unique_ptr<ReadDetour> detour_;
  std::unique_ptr<VaultFiles> files_;
  int rouser_ = -1;  // an eventfd that the kernel reads while the step's thread sleeps
  uint64_t roused_ = 0;
  bool armed_ = false;
  ReadClient* client_ = nullptr;
  Queues queues_;
  RegisteredMemory memory_;
};

Status UringReader::open(VaultFiles& files) {
  // Every operation, a delay that turns into a read, and the rouser.
  const auto entries = static_cast<unsigned>(operations_.size()) + 4;
  if (const int code = queues_.open(entries); code < 0) return refused("io_uring_setup", code);
  std::vector<int> descriptors;
  for (uint32_t file = 0; file < files.count(); ++file)
    descriptors.push_back(files.descriptor(file));
  const int code = io_uring_register_files(queues_.get(), descriptors.data(),
                                           static_cast<unsigned>(descriptors.size()));
  if (code < 0) return refused("registering the files", code);
  rouser_ = ::eventfd(0, EFD_CLOEXEC);
  if (rouser_ < 0) return refused("eventfd", errno);
  return probe(files);
}

// One real read, compared with an ordinary one: sandboxes and emulations let the set-up succeed.
Status UringReader::probe(VaultFiles& files) {
  SMOE_TRY(const AlignedBuffer memory, AlignedBuffer::allocate(2 * kPageBytes));
  ReadRequest request;
  request.into = memory.bytes().first(kPageBytes);
  const auto expected = files.read(request);
  if (!expected) return {};  // the file's fault, which is met where it matters
  const std::span<std::byte> seen = memory.bytes().subspan(kPageBytes);
  io_uring_sqe* entry = io_uring_get_sqe(queues_.get());
  io_uring_prep_read(entry, 0, seen.data(), static_cast<unsigned>(seen.size()), 0);
  entry->flags |= IOSQE_FIXED_FILE;
  io_uring_sqe_set_data64(entry, kProbeTag);
  int code = io_uring_submit(queues_.get());
  if (code < 0) return refused("io_uring_enter", code);
  io_uring_cqe* completion = nullptr;
  do {
    code = io_uring_wait_cqe(queues_.get(), &completion);
  } while (code == -EINTR);
  if (code < 0) return refused("io_uring_enter", code);
  const int got = completion->res;
  io_uring_cqe_seen(queues_.get(), completion);
  if (got <= 0) return refused("a first read", got == 0 ? -EIO : got);
  const size_t compared = std::min(static_cast<size_t>(got), *expected);
  if (!std::ranges::equal(seen.first(compared), request.into.first(compared)))
    return Error{Code::kUnsupported, "io_uring: a first read gave other bytes than the file's"};
  return {};
}

// All that there is room for, in one submission.
void UringReader::fill() {
  while (demands_ < depth_ && begin(ReadClient::Kind::kDemand)) {
  }
  while (demands_ + bets_ < bet_depth_ && begin(ReadClient::Kind::kAny)) {
  }
  if (io_uring_sq_ready(queues_.get()) > 0) io_uring_submit(queues_.get());
}

bool UringReader::begin(ReadClient::Kind kind) {
  if (free_.empty()) return false;
  const uint32_t index = free_.back();
  if (!client_->take(operations_[index].request, kind)) return false;
  free_.pop_back();
  ++(operations_[index].request.bet ? bets_ : demands_);
  submit(index);
  return true;
}

// Queues the next thing to do for an operation. A failed submission leaves it queued for the next.
void UringReader::submit(uint32_t index) {
  Operation& operation = operations_[index];
  io_uring_sqe* entry = io_uring_get_sqe(queues_.get());
  SMOE_CHECK(entry != nullptr);  // there are more entries than operations
  if (operation.request.delay_ns > 0) {
    operation.delay.tv_sec = static_cast<int64_t>(operation.request.delay_ns / 1'000'000'000);
    operation.delay.tv_nsec = static_cast<long long>(operation.request.delay_ns % 1'000'000'000);
    io_uring_prep_timeout(entry, &operation.delay, 0, 0);
  } else if (detour_) {
    io_uring_prep_poll_add(entry, detour_->depart(operation.request), POLLIN);
  } else {
    submit_read(entry, operation);
  }
  io_uring_sqe_set_data64(entry, index);
}

void UringReader::submit_read(io_uring_sqe* entry, Operation& operation) {
  const ReadRequest& request = operation.request;
  files_->forget(request);
  const auto bytes = static_cast<unsigned>(std::min(request.into.size(), kMaxReadBytes));
  const auto file = static_cast<int>(request.file);
  if (const int piece = memory_.piece_of(request.into); piece >= 0) {
    io_uring_prep_read_fixed(entry, file, request.into.data(), bytes, request.offset, piece);
  } else {
    io_uring_prep_read(entry, file, request.into.data(), bytes, request.offset);
  }
  entry->flags |= IOSQE_FIXED_FILE;
}

// Those that ended make room first, so that the disk has its next reads before checksums are
// computed.
void UringReader::reap() {
  take_completions();
  if (ended_.empty()) return;
  fill();
  for (const uint32_t index : ended_) end(index);
  ended_.clear();
  fill();
}

void UringReader::take_completions() {
  io_uring_cqe* completion = nullptr;
  while (io_uring_peek_cqe(queues_.get(), &completion) == 0) {
    const uint64_t tag = io_uring_cqe_get_data64(completion);
    const int result = completion->res;
    io_uring_cqe_seen(queues_.get(), completion);
    if (tag == kRouseTag) armed_ = false;
    if (tag >= operations_.size()) continue;
    const auto index = static_cast<uint32_t>(tag);
    operations_[index].result = result;
    --(operations_[index].request.bet ? bets_ : demands_);
    ended_.push_back(index);
  }
}

void UringReader::end(uint32_t index) {
  Operation& operation = operations_[index];
  ReadRequest& request = operation.request;
  const bool slept = request.delay_ns > 0;
  request.delay_ns = 0;
  // All file systems refuse the rest of a short direct read that broke off inside a block.
  const bool refused_direct =
      !slept && !detour_ && operation.result == -EINVAL && files_->direct(request.file);
  if (refused_direct) files_->give_up_direct(request.file);
  if (!slept && !detour_ && operation.result < 0 && drive_is_lost(-operation.result))
    find_again(request.file);
  if (slept || refused_direct || client_->finish(request, result_of(operation))) {
    ++(request.bet ? bets_ : demands_);
    submit(index);
  } else {
    free_.push_back(index);
  }
}

// The client's retry then reads from the file that is there now.
void UringReader::find_again(uint32_t file) {
  if (!files_->reopen(file)) return;
  const int descriptor = files_->descriptor(file);
  io_uring_register_files_update(queues_.get(), file, &descriptor, 1);
  client_->distrust();
}

Result<size_t> UringReader::result_of(const Operation& operation) {
  if (detour_) return detour_->arrive(operation.request);
  if (operation.result < 0) return read_error(-operation.result);
  return static_cast<size_t>(operation.result);
}

void UringReader::arm_rouser() {
  if (armed_) return;
  io_uring_sqe* entry = io_uring_get_sqe(queues_.get());
  if (entry == nullptr) return;
  io_uring_prep_read(entry, rouser_, &roused_, sizeof(roused_), 0);
  io_uring_sqe_set_data64(entry, kRouseTag);
  armed_ = true;
}

void UringReader::wait(const Signal& ended, uint32_t seen, uint64_t deadline_ns) {
  if (ended.seen() != seen) return;
  arm_rouser();
  if (deadline_ns == 0) {
    sleep(nullptr);
    return;
  }
  const uint64_t now = now_ns();
  if (now >= deadline_ns) return;
  __kernel_timespec limit{};
  limit.tv_sec = static_cast<int64_t>((deadline_ns - now) / 1'000'000'000);
  limit.tv_nsec = static_cast<long long>((deadline_ns - now) % 1'000'000'000);
  sleep(&limit);
}

void UringReader::sleep(__kernel_timespec* limit) {
  io_uring_cqe* completion = nullptr;
  const int code = io_uring_submit_and_wait_timeout(queues_.get(), &completion, 1, limit, nullptr);
  // A kernel that is out of memory for a moment must not make this thread spin.
  if (code < 0 && code != -ETIME && code != -EINTR)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void UringReader::rouse() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(rouser_, &one, sizeof(one));
}

void UringReader::stop() {
  if (client_ == nullptr) return;
  reap();
  while (demands_ + bets_ > 0) {
    sleep(nullptr);
    reap();
  }
  memory_.close();
  client_ = nullptr;
}

std::string UringReader::description() const {
  return "io_uring, " + files_->description() + ", " + std::to_string(depth_) +
         (depth_ == 1 ? " read" : " reads") + " at once" +
         (memory_.works() ? ", registered memory" : "");
}

}  // namespace

Result<std::unique_ptr<Reader>> open_uring_reader(std::unique_ptr<VaultFiles>& files,
                                                  unsigned depth,
                                                  std::unique_ptr<ReadDetour> detour) {
  auto reader = std::make_unique<UringReader>(depth, std::move(detour));
  SMOE_DO(reader->open(*files));
  reader->adopt(std::move(files));
  return reader;
}

}  // namespace smoe
