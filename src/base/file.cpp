#include "base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "base/units.h"

namespace smoe {
namespace {

namespace fs = std::filesystem;

// Linux moves at most this much in one call.
constexpr size_t kMaxTransfer = 0x7ffff000;

Error system_error(const fs::path& path, std::string_view action, int error) {
  Code code = Code::kIo;
  if (error == ENOENT || error == ENOTDIR) code = Code::kNotFound;
  if (error == ENOSPC || error == EDQUOT || error == EFBIG) code = Code::kNoSpace;
  std::string message = path.string() + ": cannot " + std::string(action) + ": " +
                        std::system_category().message(error);
  if (error == EMFILE) message += " (raise the limit with: ulimit -n 1024)";
  return {code, std::move(message)};
}

int open_retrying(const fs::path& path, int flags, mode_t mode = 0666) {
  int descriptor = -1;
  do {
    descriptor = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  } while (descriptor < 0 && errno == EINTR);
  return descriptor;
}

// Opens for reading what can be read at any offset. Anything else is refused before it can block: a
// pipe without a writer would never open.
Result<int> open_regular(const fs::path& path, int flags) {
  const int descriptor = open_retrying(path, O_RDONLY | O_NONBLOCK | flags);
  if (descriptor < 0) return system_error(path, "open", errno);
  struct stat info {};
  const bool known = ::fstat(descriptor, &info) == 0;
  if (known && S_ISREG(info.st_mode)) {
    ::fcntl(descriptor, F_SETFL, flags);  // regular files never block; io_uring minds the flag
    return descriptor;
  }
  ::close(descriptor);
  if (known && S_ISDIR(info.st_mode)) return Error{Code::kIo, path.string() + ": is a directory"};
  return Error{Code::kIo, path.string() + ": is not a regular file"};
}

// The file that shall be replaced: `path`, or what it is a link to. A device, a pipe or a folder is
// never replaced.
Result<fs::path> replaceable(const fs::path& path) {
  std::error_code missing;
  std::error_code error;
  const fs::path target = fs::is_symlink(path, missing) ? fs::canonical(path, error) : path;
  if (error) return system_error(path, "follow the link", error.value());
  const fs::file_status status = fs::status(target, missing);
  if (!fs::exists(status) || fs::is_regular_file(status)) return target;
  return Error{Code::kIo, path.string() + ": is not a regular file, and only such are written"};
}

}  // namespace

File::File(File&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), path_(std::move(other.path_)) {}

File& File::operator=(File&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(path_, other.path_);
  return *this;
}

File::~File() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<File> File::open(const fs::path& path) {
  SMOE_TRY(const int descriptor, open_regular(path, 0));
  return File(descriptor, path);
}

Result<File> File::open_direct(const fs::path& path) {
  errno = 0;
  auto descriptor = open_regular(path, O_DIRECT);
  if (!descriptor && errno == EINVAL)
    return Error{Code::kUnsupported, path.string() + ": the file system has no direct I/O"};
  if (!descriptor) return std::move(descriptor).error();
  return File(*descriptor, path);
}

Result<File> File::create(const fs::path& path) {
  const int descriptor = open_retrying(path, O_RDWR | O_CREAT | O_TRUNC);
  if (descriptor < 0) return system_error(path, "create", errno);
  return File(descriptor, path);
}

Result<size_t> File::read_some(uint64_t offset, std::span<std::byte> out) const {
  ssize_t got = -1;
  do {
    got = ::pread(descriptor_, out.data(), std::min(out.size(), kMaxTransfer),
                  static_cast<off_t>(offset));
  } while (got < 0 && errno == EINTR);
  if (got < 0) return system_error(path_, "read", errno);
  return static_cast<size_t>(got);
}

Status File::read_at(uint64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    SMOE_TRY(const size_t got, read_some(offset, out));
    if (got == 0)
      return Error{Code::kCorrupt, path_.string() + ": ends at byte " + std::to_string(offset) +
                                       ", " + std::to_string(out.size()) + " more were expected"};
    offset += got;
    out = out.subspan(got);
  }
  return {};
}

Status File::write_at(uint64_t offset, std::span<const std::byte> data) {
  while (!data.empty()) {
    const ssize_t put = ::pwrite(descriptor_, data.data(), std::min(data.size(), kMaxTransfer),
                                 static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) {
      Error error = system_error(path_, "write", put == 0 ? ENOSPC : errno);
      if (error.code == Code::kNoSpace)
        error.message += " (" + format_bytes(data.size()) + " at offset " + std::to_string(offset) +
                         " did not fit)";
      return error;
    }
    offset += static_cast<uint64_t>(put);
    data = data.subspan(static_cast<size_t>(put));
  }
  return {};
}

Status File::sync() {
  if (::fsync(descriptor_) != 0) return system_error(path_, "sync to disk", errno);
  return {};
}

Status File::close() {
  if (::close(std::exchange(descriptor_, -1)) != 0) return system_error(path_, "close", errno);
  return {};
}

Result<uint64_t> File::size() const {
  struct stat info {};
  if (::fstat(descriptor_, &info) != 0) return system_error(path_, "examine", errno);
  return static_cast<uint64_t>(info.st_size);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      path_(std::move(other.path_)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(path_, other.path_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

Result<MappedFile> MappedFile::open(const fs::path& path) {
  SMOE_TRY(const File file, File::open(path));
  SMOE_TRY(const uint64_t size, file.size());
  MappedFile mapped;
  mapped.path_ = path;
  mapped.size_ = size;
  if (mapped.size_ == 0) return mapped;
  void* data = ::mmap(nullptr, mapped.size_, PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
  if (data == MAP_FAILED) return system_error(path, "map", errno);
  mapped.data_ = static_cast<const std::byte*>(data);
  return mapped;
}

void MappedFile::drop(uint64_t offset, uint64_t bytes) const {
  constexpr uint64_t kSystemPage = 4096;
  const uint64_t begin = align_up(offset, kSystemPage);
  const uint64_t end = std::min<uint64_t>(offset + bytes, size_) / kSystemPage * kSystemPage;
  if (end > begin) ::madvise(const_cast<std::byte*>(data_) + begin, end - begin, MADV_DONTNEED);
}

Result<std::string> read_text_file(const fs::path& path, uint64_t max_bytes) {
  SMOE_TRY(const File file, File::open(path));
  return read_stream(file.descriptor(), path.string(), max_bytes);
}

Result<std::string> read_any_file(const fs::path& path, uint64_t max_bytes) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return Error{Code::kIo, path.string() + ": is a directory"};
  const int descriptor = open_retrying(path, O_RDONLY);
  if (descriptor < 0) return system_error(path, "open", errno);
  auto text = read_stream(descriptor, path.string(), max_bytes);
  ::close(descriptor);
  return text;
}

Result<std::string> read_stream(int descriptor, std::string_view name, uint64_t max_bytes) {
  std::string text;
  constexpr size_t kStep = 64 * kKiB;
  for (;;) {
    const size_t used = text.size();
    text.resize(used + kStep);
    const ssize_t got = ::read(descriptor, text.data() + used, kStep);
    if (got < 0 && errno == EINTR) {
      text.resize(used);
      continue;
    }
    if (got < 0) return system_error(std::string(name), "read", errno);
    text.resize(used + static_cast<size_t>(got));
    if (text.size() > max_bytes)
      return Error{Code::kCorrupt, std::string(name) + ": larger than " + format_bytes(max_bytes)};
    if (got == 0) return text;
  }
}

Status sync_directory(const fs::path& directory) {
  const fs::path path = directory.empty() ? "." : directory;
  const int descriptor = open_retrying(path, O_RDONLY | O_DIRECTORY);
  if (descriptor < 0) return system_error(path, "open", errno);
  const int failed = ::fsync(descriptor) != 0 ? errno : 0;
  ::close(descriptor);
  // Some network file systems cannot sync a directory; they order renames themselves.
  if (failed != 0 && failed != EINVAL) return system_error(path, "sync to disk", failed);
  return {};
}

Status replace_file(const fs::path& path, const std::function<Status(File&)>& fill) {
  SMOE_TRY(const fs::path target, replaceable(path));
  fs::path partial = target;
  partial += ".partial";
  const auto write = [&]() -> Status {
    SMOE_TRY(File file, File::create(partial));
    SMOE_DO(fill(file));
    SMOE_DO(file.sync());
    SMOE_DO(file.close());
    if (::rename(partial.c_str(), target.c_str()) != 0)
      return system_error(partial, "replace", errno);
    return sync_directory(target.parent_path());
  };
  Status status = write();
  if (status) return status;
  ::unlink(partial.c_str());
  // The caller named `path`; what it was written under in the meantime helps nobody.
  Error error = std::move(status).error();
  if (error.message.starts_with(partial.string()))
    error.message.replace(0, partial.string().size(), path.string());
  return error;
}

Status replace_file(const fs::path& path, std::string_view content) {
  return replace_file(path, [&](File& file) {
    return file.write_at(0, std::as_bytes(std::span(content.data(), content.size())));
  });
}

Status make_private_directory(const fs::path& directory) {
  if (::mkdir(directory.c_str(), 0700) == 0) return {};
  if (errno != EEXIST) return system_error(directory, "make", errno);
  std::error_code ignored;
  if (fs::is_directory(directory, ignored)) return {};
  return Error{Code::kIo, directory.string() + ": is not a directory"};
}

Status replace_private_file(const fs::path& path, std::span<const std::byte> content) {
  fs::path partial = path;
  partial += ".partial";
  ::unlink(partial.c_str());
  const int descriptor = open_retrying(partial, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  if (descriptor < 0) return system_error(partial, "create", errno);
  File file = File::adopt(descriptor, partial);
  Status status = file.write_at(0, content);
  if (status) status = file.close();
  if (status && ::rename(partial.c_str(), path.c_str()) != 0)
    status = system_error(path, "replace", errno);
  if (!status) ::unlink(partial.c_str());
  return status;
}

Status read_private_file(const fs::path& path, std::span<std::byte> out) {
  SMOE_TRY(const int descriptor, open_regular(path, O_NOFOLLOW));
  const File file = File::adopt(descriptor, path);
  SMOE_TRY(const uint64_t bytes, file.size());
  if (bytes != out.size())
    return Error{Code::kCorrupt, path.string() + ": has " + std::to_string(bytes) + " bytes, " +
                                     std::to_string(out.size()) + " were expected"};
  return file.read_at(0, out);
}

Result<uint64_t> free_space(const fs::path& path) {
  std::error_code ignored;
  fs::path existing = fs::absolute(path, ignored);
  while (!fs::exists(existing, ignored) && existing.has_relative_path())
    existing = existing.parent_path();
  struct statvfs info {};
  if (::statvfs(existing.c_str(), &info) != 0) return system_error(existing, "examine", errno);
  return static_cast<uint64_t>(info.f_bavail) * info.f_frsize;
}

}  // namespace smoe
