#include "stream/pread_reader.h"

#include <algorithm>
#include <chrono>

#include "base/check.h"

namespace smoe {

PreadReader::PreadReader(std::unique_ptr<RecordFiles> files, unsigned readers)
    : files_(std::move(files)), readers_(std::max(readers, 1U)) {}

PreadReader::~PreadReader() { stop(); }

void PreadReader::start(ReadClient& client, std::span<std::byte> /*memory*/) {
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
  uint32_t trusted = files_->reopened();
  for (;;) {
    const uint32_t seen = work_.seen();
    if (stopping_.load(std::memory_order_relaxed)) return;
    if (client_->take(request, ReadClient::Kind::kAny)) {
      serve(request, trusted);
    } else {
      work_.wait(seen);
    }
  }
}

void PreadReader::serve(ReadRequest& request, uint32_t& trusted) {
  for (;;) {
    if (request.delay_ns > 0)
      std::this_thread::sleep_for(std::chrono::nanoseconds(request.delay_ns));
    const Result<size_t> got = files_->read(request);
    if (const uint32_t now = files_->reopened(); now != trusted) {
      trusted = now;
      client_->distrust();
    }
    if (!client_->finish(request, got)) return;
  }
}

std::string PreadReader::description() const {
  return "pread, " + files_->description() + ", " + std::to_string(readers_) +
         (readers_ == 1 ? " reader" : " readers");
}

}  // namespace smoe
