#include "server/workers.h"

#include <system_error>
#include <utility>

#include "base/log.h"

namespace smoe::server {

Workers::Workers(unsigned threads, size_t most_waiting) : most_waiting_(most_waiting) {
  try {
    for (unsigned i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
  } catch (const std::system_error& error) {
    log::warn("{} of {} threads for requests: {}", threads_.size(), threads, error.what());
  }
}

Workers::~Workers() {
  std::deque<std::function<void()>> dropped;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    dropped.swap(jobs_);
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool Workers::post(std::function<void()> job) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_ || threads_.empty() || jobs_.size() >= most_waiting_) return false;
    jobs_.push_back(std::move(job));
  }
  changed_.notify_one();
  return true;
}

void Workers::work() {
  while (true) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
    if (stopping_) return;
    const std::function<void()> job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    job();
  }
}

}  // namespace smoe::server
