// GET /live: what the engine is doing, four times a second, for as long as somebody looks.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "server/fleet.h"
#include "server/http_server.h"

namespace smoe::server {

// Threads: watch() any. Its own thread runs from the first watcher on, and sleeps without any.
class LiveFeed {
 public:
  explicit LiveFeed(Fleet& fleet) : fleet_(fleet) {}
  ~LiveFeed();
  LiveFeed(const LiveFeed&) = delete;
  LiveFeed& operator=(const LiveFeed&) = delete;

  void watch(std::shared_ptr<Exchange> exchange);
  // Ends every stream.
  void stop();

 private:
  void run();

  Fleet& fleet_;
  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::vector<std::shared_ptr<Exchange>> watchers_;
  bool stopping_ = false;
  std::thread thread_;
};

// Bytes as base64, with padding.
std::string base64(const std::vector<uint8_t>& bytes);

}  // namespace smoe::server
