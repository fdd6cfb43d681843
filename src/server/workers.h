// Threads for the work on requests that would hold up the network: reading JSON, rendering
// templates, loading models.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace smoe::server {

// Threads: post() any; jobs run on the pool's. Where the system refuses a thread, the pool makes do
// with those it got.
class Workers {
 public:
  Workers(unsigned threads, size_t most_waiting);
  // Jobs that have not begun are dropped.
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // False when so many are waiting that this one is refused.
  bool post(std::function<void()> job);

 private:
  void work();

  const size_t most_waiting_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace smoe::server
