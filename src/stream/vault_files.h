// The vault's files, opened for records: past the page cache where that works.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "stream/reader.h"

namespace smoe {

// Linux moves at most this much in one call; a multiple of any direct read's block.
inline constexpr size_t kMaxReadBytes = 0x7ffff000;

// "cannot read: Input/output error"
Error read_error(int system_error);

// Blocking reads from numbered files. Threads: any, at once.
class RecordFiles {
 public:
  virtual ~RecordFiles() = default;
  // As much of the request as one call gives, 0 at the end of the file. Fails: kIo.
  virtual Result<size_t> read(const ReadRequest& request) = 0;
  virtual std::string description() const = 0;
};

// Past the page cache where the file system has direct I/O and a first direct read gives the same
// bytes as an ordinary one; through it where not, and from then on where a read turns out to be
// refused.
class VaultFiles final : public RecordFiles {
 public:
  // Fails: kNotFound, kIo, naming the file.
  static Result<std::unique_ptr<VaultFiles>> open(std::span<const std::filesystem::path> paths,
                                                  bool direct);
  Result<size_t> read(const ReadRequest& request) override;
  std::string description() const override;

  // For engines that hand the files to the kernel themselves.
  size_t count() const { return files_.size(); }
  int descriptor(uint32_t file) const { return files_[file]->file.descriptor(); }
  bool direct(uint32_t file) const { return files_[file]->direct.load(std::memory_order_relaxed); }
  // Before a read that must not come from the page cache.
  void forget(const ReadRequest& request) const;
  // Reads of this file go through the page cache from now on, other threads' too.
  void give_up_direct(uint32_t file);

 private:
  struct OpenFile {
    explicit OpenFile(File opened, bool is_direct) : file(std::move(opened)), direct(is_direct) {}
    File file;
    std::atomic<bool> direct;
  };

  std::vector<std::unique_ptr<OpenFile>> files_;  // atomics do not move
};

}  // namespace smoe
