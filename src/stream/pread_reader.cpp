#include "stream/pread_reader.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "base/check.h"
#include "base/log.h"

namespace smoe {
namespace {

// Linux moves at most this much in one call; a multiple of any direct read's block.
constexpr size_t kMaxRead = 0x7ffff000;

ssize_t pread_once(int descriptor, const ReadRequest& request) {
  ssize_t got = -1;
  do {
    got = ::pread(descriptor, request.into.data(), std::min(request.into.size(), kMaxRead),
                  static_cast<off_t>(request.offset));
  } while (got < 0 && errno == EINTR);
  return got;
}

}  // namespace

Result<std::unique_ptr<VaultFiles>> VaultFiles::open(std::span<const std::filesystem::path> paths,
                                                     bool direct) {
  auto files = std::make_unique<VaultFiles>();
  for (const std::filesystem::path& path : paths) {
    if (direct) {
      Result<File> opened = File::open_direct(path);
      if (opened) {
        files->files_.push_back(std::make_unique<OpenFile>(std::move(*opened), true));
        continue;
      }
      if (opened.error().code != Code::kUnsupported) return std::move(opened).error();
    }
    SMOE_TRY(File buffered, File::open(path));
    files->files_.push_back(std::make_unique<OpenFile>(std::move(buffered), false));
  }
  return files;
}

Result<size_t> VaultFiles::read(const ReadRequest& request) {
  OpenFile& from = *files_[request.file];
  const int descriptor = from.file.descriptor();
  const bool direct = from.direct.load(std::memory_order_relaxed);
  if (!direct && request.fresh)
    ::posix_fadvise(descriptor, static_cast<off_t>(request.offset),
                    static_cast<off_t>(request.into.size()), POSIX_FADV_DONTNEED);
  ssize_t got = pread_once(descriptor, request);
  // Some file systems refuse direct I/O only here; all refuse the rest of a short read that broke
  // off inside a block.
  if (got < 0 && errno == EINVAL && direct) {
    give_up_direct(from);
    got = pread_once(descriptor, request);
  }
  if (got < 0) return Error{Code::kIo, std::string("cannot read: ") + strerror(errno)};
  return static_cast<size_t>(got);
}

// The flag belongs to the open file, so other threads' reads of it become buffered too, which is
// what is wanted.
void VaultFiles::give_up_direct(OpenFile& file) {
  const int flags = ::fcntl(file.file.descriptor(), F_GETFL);
  ::fcntl(file.file.descriptor(), F_SETFL, flags & ~O_DIRECT);
  if (file.direct.exchange(false, std::memory_order_relaxed))
    log::warn("{}: direct reads are refused, reading through the page cache",
              file.file.path().string());
}

std::string VaultFiles::description() const {
  const auto direct = std::count_if(files_.begin(), files_.end(), [](const auto& file) {
    return file->direct.load(std::memory_order_relaxed);
  });
  if (direct == 0) return "buffered";
  if (static_cast<size_t>(direct) == files_.size()) return "direct";
  return "direct for " + std::to_string(direct) + " of " + std::to_string(files_.size()) + " files";
}

PreadReader::PreadReader(std::unique_ptr<RecordFiles> files, unsigned readers)
    : files_(std::move(files)), readers_(std::max(readers, 1U)) {}

PreadReader::~PreadReader() { stop(); }

void PreadReader::start(ReadClient& client) {
  SMOE_CHECK(client_ == nullptr);
  client_ = &client;
  for (unsigned i = 0; i < readers_; ++i) threads_.emplace_back([this] { work(); });
}

void PreadReader::wake(uint32_t requests) {
  if (requests == 1) {
    work_.raise_one();
  } else if (requests > 1) {
    work_.raise();
  }
}

void PreadReader::stop() {
  stopping_.store(true, std::memory_order_relaxed);
  work_.raise();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void PreadReader::work() {
  ReadRequest request;
  for (;;) {
    const uint32_t seen = work_.seen();
    if (stopping_.load(std::memory_order_relaxed)) return;
    if (client_->take(request)) {
      serve(request);
    } else {
      work_.wait(seen);
    }
  }
}

void PreadReader::serve(ReadRequest& request) {
  for (;;) {
    if (request.delay_ns > 0)
      std::this_thread::sleep_for(std::chrono::nanoseconds(request.delay_ns));
    if (!client_->finish(request, files_->read(request))) return;
  }
}

std::string PreadReader::description() const {
  return "pread, " + files_->description() + ", " + std::to_string(readers_) +
         (readers_ == 1 ? " reader" : " readers");
}

}  // namespace smoe
