#include "stream/vault_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "base/aligned.h"
#include "base/checksum.h"
#include "base/log.h"
#include "base/units.h"

namespace smoe {
namespace {

ssize_t pread_once(int descriptor, uint64_t offset, std::span<std::byte> into) {
  ssize_t got = -1;
  do {
    got = ::pread(descriptor, into.data(), std::min(into.size(), kMaxReadBytes),
                  static_cast<off_t>(offset));
  } while (got < 0 && errno == EINTR);
  return got;
}

// Some file systems accept O_DIRECT at open and refuse the read; some network and user-space ones
// serve it wrongly. One page tells, compared with an ordinary read of the same bytes. A read error
// is no answer: it will be met, and retried, where it matters.
bool direct_reads_work(const File& direct, const File& buffered) {
  const auto memory = AlignedBuffer::allocate(2 * kPageBytes);
  if (!memory) return true;
  const std::span<std::byte> seen = memory->bytes().first(kPageBytes);
  const std::span<std::byte> wanted = memory->bytes().subspan(kPageBytes);
  const ssize_t got = pread_once(direct.descriptor(), 0, seen);
  if (got < 0) return errno != EINVAL;
  const ssize_t expected = pread_once(buffered.descriptor(), 0, wanted);
  const auto compared = static_cast<size_t>(std::max<ssize_t>(0, std::min(got, expected)));
  return expected < 0 ||
         (compared > 0 && std::ranges::equal(seen.first(compared), wanted.first(compared)));
}

// The answer is the file system's, so one file of each is asked.
class DirectProbe {
 public:
  bool works(const File& direct, const File& buffered) {
    struct stat facts {};
    if (::fstat(direct.descriptor(), &facts) != 0) return true;
    if (!works_ || device_ != facts.st_dev) {
      works_ = direct_reads_work(direct, buffered);
      device_ = facts.st_dev;
      if (!*works_)
        log::warn("{}: direct reads are refused or wrong, reading through the page cache",
                  direct.path().string());
    }
    return *works_;
  }

 private:
  std::optional<bool> works_;
  dev_t device_ = 0;
};

}  // namespace

bool drive_is_lost(int system_error) {
  switch (system_error) {
    case EIO:
    case ENXIO:
    case ENODEV:
    case EBADF:
    case ENOTCONN:
    case ESHUTDOWN:
    case ESTALE:
      return true;
    default:
      return false;
  }
}

Error read_error(int system_error) {
  return {Code::kIo, std::string("cannot read: ") + strerror(system_error)};
}

Result<std::unique_ptr<VaultFiles>> VaultFiles::open(std::span<const std::filesystem::path> paths,
                                                     bool direct) {
  auto files = std::make_unique<VaultFiles>();
  DirectProbe probe;
  for (const std::filesystem::path& path : paths) {
    SMOE_TRY(File buffered, File::open(path));
    const std::optional<Signature> signature = signature_of(buffered);
    if (direct) {
      Result<File> opened = File::open_direct(path);
      if (!opened && opened.error().code != Code::kUnsupported) return std::move(opened).error();
      if (opened && probe.works(*opened, buffered)) {
        files->files_.push_back(std::make_unique<OpenFile>(std::move(*opened), true, signature));
        continue;
      }
    }
    files->files_.push_back(std::make_unique<OpenFile>(std::move(buffered), false, signature));
  }
  return files;
}

Result<size_t> VaultFiles::read(const ReadRequest& request) {
  forget(request);
  const int from = descriptor(request.file);
  ssize_t got = pread_once(from, request.offset, request.into);
  // All file systems refuse the rest of a short direct read that broke off inside a block.
  if (got < 0 && errno == EINVAL && direct(request.file)) {
    give_up_direct(request.file);
    got = pread_once(from, request.offset, request.into);
  }
  if (got < 0) {
    const int error = errno;
    if (!drive_is_lost(error) || !reopen(request.file)) return read_error(error);
    got = pread_once(from, request.offset, request.into);
  }
  if (got < 0) return read_error(errno);
  return static_cast<size_t>(got);
}

std::optional<VaultFiles::Signature> VaultFiles::signature_of(const File& file) {
  auto memory = AlignedBuffer::allocate(kPageBytes);
  const auto bytes = file.size();
  if (!memory || !bytes || *bytes == 0) return {};
  const auto page = memory->bytes().first(std::min<uint64_t>(*bytes, kPageBytes));
  // A direct read asks for whole blocks, and gets fewer bytes at the end of a file.
  size_t done = 0;
  while (done < page.size()) {
    const auto got = file.read_some(done, memory->bytes().subspan(done));
    if (!got || *got == 0) return {};
    done += *got;
  }
  return Signature{*bytes, xxh3_64(page)};
}

bool VaultFiles::reopen(uint32_t file) {
  OpenFile& lost = *files_[file];
  if (!lost.signature) return false;
  const std::filesystem::path& path = lost.file.path();
  const Result<File> again = direct(file) ? File::open_direct(path) : File::open(path);
  if (!again || signature_of(*again) != lost.signature) return false;
  // The number stays, so readers in other threads go on without noticing.
  if (::dup3(again->descriptor(), lost.file.descriptor(), O_CLOEXEC) < 0) return false;
  if (reopened_.fetch_add(1, std::memory_order_relaxed) == 0)
    log::warn("{}: the drive was gone, the file is opened again", path.string());
  return true;
}

void VaultFiles::forget(const ReadRequest& request) const {
  if (!request.fresh || direct(request.file)) return;
  ::posix_fadvise(descriptor(request.file), static_cast<off_t>(request.offset),
                  static_cast<off_t>(request.into.size()), POSIX_FADV_DONTNEED);
}

// The flag belongs to the open file, so whoever reads it, in whatever way, is served.
void VaultFiles::give_up_direct(uint32_t file) {
  const int flags = ::fcntl(descriptor(file), F_GETFL);
  ::fcntl(descriptor(file), F_SETFL, flags & ~O_DIRECT);
  if (files_[file]->direct.exchange(false, std::memory_order_relaxed))
    log::warn("{}: direct reads are refused, reading through the page cache",
              files_[file]->file.path().string());
}

std::string VaultFiles::description() const {
  const auto direct = std::count_if(files_.begin(), files_.end(), [](const auto& file) {
    return file->direct.load(std::memory_order_relaxed);
  });
  if (direct == 0) return "buffered";
  if (static_cast<size_t>(direct) == files_.size()) return "direct";
  return "direct for " + std::to_string(direct) + " of " + std::to_string(files_.size()) + " files";
}

}  // namespace smoe
