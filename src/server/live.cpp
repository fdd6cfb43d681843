#include "server/live.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <system_error>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "server/live_event.h"

namespace smoe::server {
namespace {

constexpr std::chrono::milliseconds kLivePeriod{250};
constexpr size_t kMostWatchers = 64;
constexpr std::string_view kBase64Letters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string base64(const std::vector<uint8_t>& bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t at = 0; at < bytes.size(); at += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - at);
    uint32_t group = 0;
    for (size_t i = 0; i < 3; ++i) group = group << 8U | (i < count ? bytes[at + i] : 0U);
    for (size_t i = 0; i < 4; ++i)
      text += i <= count ? kBase64Letters[group >> (18U - 6U * i) & 63U] : '=';
  }
  return text;
}

LiveFeed::~LiveFeed() { stop(); }

void LiveFeed::watch(std::shared_ptr<Exchange> exchange) {
  const std::lock_guard lock(mutex_);
  if (stopping_ || watchers_.size() >= kMostWatchers) {
    exchange->respond(
        error_response({.status = 503, .message = "too many watchers"}, ApiStyle::kOpenAi));
    return;
  }
  exchange->begin_stream({200,
                          {{"content-type", "text/event-stream"},
                           {"cache-control", "no-cache"},
                           {"x-accel-buffering", "no"}},
                          {}},
                         ": keepalive\n\n");
  watchers_.push_back(std::move(exchange));
  if (!thread_.joinable()) {
    try {
      thread_ = std::thread([this] { run(); });
    } catch (const std::system_error& error) {
      log::warn("no thread for /live: {}", error.what());
      watchers_.clear();
    }
  }
  changed_.notify_all();
}

void LiveFeed::run() {
  LiveEvents events;
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (watchers_.empty()) {
      events.forget();
      changed_.wait(lock, [this] { return stopping_ || !watchers_.empty(); });
      continue;
    }
    lock.unlock();
    const std::string event = events.next(fleet_.current());
    lock.lock();
    std::erase_if(watchers_, [&](const auto& watcher) { return !watcher->write(event); });
    changed_.wait_for(lock, kLivePeriod, [this] { return stopping_; });
  }
}

void LiveFeed::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  const std::lock_guard lock(mutex_);
  for (const auto& watcher : watchers_) watcher->end();
  watchers_.clear();
}

}  // namespace smoe::server
