// The read engine for every system: threads that call pread.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "stream/reader.h"
#include "stream/request_queue.h"

namespace smoe {

// Blocking reads from numbered files. Threads: any, at once.
class RecordFiles {
 public:
  virtual ~RecordFiles() = default;
  // As much of the request as one call gives, 0 at the end of the file. Fails: kIo.
  virtual Result<size_t> read(const ReadRequest& request) = 0;
  virtual std::string description() const = 0;
};

// Past the page cache where the file system has direct I/O, through it where not, and from then on
// where a read turns out to be refused.
class VaultFiles final : public RecordFiles {
 public:
  // Fails: kNotFound, kIo, naming the file.
  static Result<std::unique_ptr<VaultFiles>> open(std::span<const std::filesystem::path> paths,
                                                  bool direct);
  Result<size_t> read(const ReadRequest& request) override;
  std::string description() const override;

 private:
  struct OpenFile {
    explicit OpenFile(File opened, bool is_direct) : file(std::move(opened)), direct(is_direct) {}
    File file;
    std::atomic<bool> direct;
  };

  void give_up_direct(OpenFile& file);

  std::vector<std::unique_ptr<OpenFile>> files_;  // atomics do not move
};

// One read at a time in each thread.
class PreadReader final : public Reader {
 public:
  PreadReader(std::unique_ptr<RecordFiles> files, unsigned readers);
  ~PreadReader() override;
  PreadReader(const PreadReader&) = delete;
  PreadReader& operator=(const PreadReader&) = delete;

  void start(ReadClient& client) override;
  void wake(uint32_t requests) override;
  void stop() override;
  std::string description() const override;

 private:
  void work();
  void serve(ReadRequest& request);

  std::unique_ptr<RecordFiles> files_;
  unsigned readers_;
  ReadClient* client_ = nullptr;
  Signal work_;
  std::atomic<bool> stopping_{false};  // relaxed: work_ orders it
  std::vector<std::thread> threads_;
};

}  // namespace smoe
