// The vault's files, opened for records: past the page cache where that works.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
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
  // How often a file was opened anew.
  virtual uint32_t reopened() const { return 0; }
};

// Whether a drive that went away answers so: it may be back under the same path.
bool drive_is_lost(int system_error);

// Past the page cache where the file system has direct I/O and a first direct read gives the same
// bytes as an ordinary one; through it where not, and from then on where a read turns out to be
// refused. A drive that went away is looked for again at each read that fails.
class VaultFiles final : public RecordFiles {
 public:
  // Fails: kNotFound, kIo, naming the file.
  static Result<std::unique_ptr<VaultFiles>> open(std::span<const std::filesystem::path> paths,
                                                  bool direct);
  Result<size_t> read(const ReadRequest& request) override;
  std::string description() const override;
  uint32_t reopened() const override { return reopened_.load(std::memory_order_relaxed); }

  // For engines that hand the files to the kernel themselves.
  size_t count() const { return files_.size(); }
  int descriptor(uint32_t file) const { return files_[file]->file.descriptor(); }
  bool direct(uint32_t file) const { return files_[file]->direct.load(std::memory_order_relaxed); }
  // Before a read that must not come from the page cache.
  void forget(const ReadRequest& request) const;
  // Reads of this file go through the page cache from now on, other threads' too.
  void give_up_direct(uint32_t file);
  // Opens what lies under the file's path now, and goes on with that under the same descriptor.
  // False when nothing is there, or something else than before: its length or its first page
  // differ.
  bool reopen(uint32_t file);

 private:
  // What a file is known by; nothing where it could not be read.
  struct Signature {
    uint64_t bytes = 0;
    uint64_t first_page = 0;  // its checksum
    friend bool operator==(const Signature&, const Signature&) = default;
  };
  struct OpenFile {
    explicit OpenFile(File opened, bool is_direct, std::optional<Signature> known)
        : file(std::move(opened)), direct(is_direct), signature(known) {}
    File file;
    std::atomic<bool> direct;
    std::optional<Signature> signature;
  };
  static std::optional<Signature> signature_of(const File& file);

  std::vector<std::unique_ptr<OpenFile>> files_;  // atomics do not move
  std::atomic<uint32_t> reopened_{0};             // relaxed: distrust() follows in the same thread
};

}  // namespace smoe
