// The read engine for every system: threads that call pread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "stream/reader.h"
#include "stream/request_queue.h"
#include "stream/vault_files.h"

namespace smoe {

// One read at a time in each thread.
class PreadReader final : public Reader {
 public:
  PreadReader(std::unique_ptr<RecordFiles> files, unsigned readers);
  ~PreadReader() override;
  PreadReader(const PreadReader&) = delete;
  PreadReader& operator=(const PreadReader&) = delete;

  void start(ReadClient& client, std::span<std::byte> memory) override;
  void wake(uint32_t requests) override;
  void stop() override;
  std::string description() const override;

 private:
  void work();
  // `trusted`: how often files were opened anew when the client last heard of it.
  void serve(ReadRequest& request, uint32_t& trusted);

  std::unique_ptr<RecordFiles> files_;
  unsigned readers_;
  ReadClient* client_ = nullptr;
  Signal work_;
  std::atomic<bool> stopping_{false};  // relaxed: work_ orders it
  std::vector<std::thread> threads_;
};

}  // namespace smoe
