// Files: explicit errors, whole reads and writes, crash-safe replacement, read-only mappings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace smoe {

class File {
 public:
  File() = default;
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  ~File();

  // Regular files only: anything else could block. Fails: kNotFound, kIo; the message names the
  // path and the system's reason.
  static Result<File> open(const std::filesystem::path& path);
  // O_DIRECT. Fails with kUnsupported when the file system refuses direct I/O.
  static Result<File> open_direct(const std::filesystem::path& path);
  // Truncates what is there.
  static Result<File> create(const std::filesystem::path& path);
  // Owns a descriptor that is open already.
  static File adopt(int descriptor, std::filesystem::path path) {
    return {descriptor, std::move(path)};
  }

  // Reads exactly out.size() bytes; a file that ends early is kCorrupt. EINTR and short reads are
  // continued. Threads: any, at once.
  Status read_at(uint64_t offset, std::span<std::byte> out) const;
  // One pread: as many bytes as the system gave, 0 at the end of the file. For O_DIRECT readers.
  Result<size_t> read_some(uint64_t offset, std::span<std::byte> out) const;
  // Fails: kNoSpace (with the bytes that did not fit), kIo.
  Status write_at(uint64_t offset, std::span<const std::byte> data);
  Status sync();
  // Reports errors that only close() knows; the destructor ignores them.
  Status close();

  Result<uint64_t> size() const;
  int descriptor() const { return descriptor_; }
  const std::filesystem::path& path() const { return path_; }

 private:
  File(int descriptor, std::filesystem::path path)
      : descriptor_(descriptor), path_(std::move(path)) {}

  int descriptor_ = -1;
  std::filesystem::path path_;
};

// A whole file, mapped read-only. Reading past a truncation that happens later raises SIGBUS, so
// only checkpoints and vocabulary files are mapped, never vaults.
class MappedFile {
 public:
  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  static Result<MappedFile> open(const std::filesystem::path& path);

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  // Tells the kernel that these bytes are not needed again (keeps peak memory low in a sweep).
  void drop(uint64_t offset, uint64_t bytes) const;
  const std::filesystem::path& path() const { return path_; }

 private:
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
  std::filesystem::path path_;
};

// A regular file. Fails: kNotFound, kIo, kCorrupt when larger than max_bytes.
Result<std::string> read_text_file(const std::filesystem::path& path, uint64_t max_bytes);
// The same for whatever a user names: also a pipe or a device, which may block until it has data.
Result<std::string> read_any_file(const std::filesystem::path& path, uint64_t max_bytes);

// Everything up to the end of a descriptor that has no size (a pipe, stdin).
Result<std::string> read_stream(int descriptor, std::string_view name, uint64_t max_bytes);

// fsync of the directory, so that a rename in it survives power loss.
Status sync_directory(const std::filesystem::path& directory);

// A link is followed; what exists and is no regular file is refused (kIo).
// Crash-safe: writes path + ".partial" through `fill`, fsyncs, closes, renames to `path`, fsyncs
// the directory. On any failure the partial file is removed and `path` is as it was; only when the
// last step fails is the new file in place, but perhaps not yet safe from power loss.
Status replace_file(const std::filesystem::path& path, const std::function<Status(File&)>& fill);
Status replace_file(const std::filesystem::path& path, std::string_view content);

// For files of this program's own, which hold what users wrote: for their owner alone (mode 0600),
// and never through a link.
// Makes `directory` (mode 0700) where it is missing; its parent is there. Fails: kIo.
Status make_private_directory(const std::filesystem::path& directory);
// As replace_file(), but without fsync: what a power failure leaves has to be checked. A folder or
// link of that name fails or is replaced itself.
Status replace_private_file(const std::filesystem::path& path, std::span<const std::byte> content);
// All of a file that is as long as `out`. Fails: as File::open; kCorrupt when it is not.
Status read_private_file(const std::filesystem::path& path, std::span<std::byte> out);

// Free bytes for an ordinary user on the file system that holds `path` (or its first existing
// parent).
Result<uint64_t> free_space(const std::filesystem::path& path);

}  // namespace smoe
