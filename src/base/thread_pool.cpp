#include "base/thread_pool.h"

#include <system_error>

namespace smoe {
namespace {

// About 50 us of polling before sleeping: a step's loops follow each other faster than that.
constexpr int kSpins = 2000;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

ThreadPool::ThreadPool(unsigned threads) {
  workers_.reserve(threads);
  try {
    for (unsigned worker = 1; worker < threads; ++worker)
      workers_.emplace_back([this, worker] { work(worker); });
  } catch (const std::system_error&) {
    // A limit on processes or address space: fewer workers do the same work.
  }
}

ThreadPool::~ThreadPool() {
  stopping_.store(true, std::memory_order_relaxed);
  loop_.fetch_add(1, std::memory_order_release);  // pairs with the acquire in work()
  loop_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::take_tasks(unsigned worker) {
  for (;;) {
    const size_t task = next_.fetch_add(1, std::memory_order_relaxed);
    if (task >= tasks_) return;
    (*body_)(task, worker);
  }
}

void ThreadPool::run(size_t tasks, FunctionRef<void(size_t, unsigned)> body) {
  if (tasks == 0) return;
  if (workers_.empty() || tasks == 1) {
    for (size_t task = 0; task < tasks; ++task) body(task, 0);
    return;
  }
  body_ = &body;
  tasks_ = tasks;
  next_.store(0, std::memory_order_relaxed);
  finished_.store(0, std::memory_order_relaxed);
  loop_.fetch_add(1, std::memory_order_release);  // publishes the fields above to work()
  loop_.notify_all();
  take_tasks(0);
  const auto others = static_cast<unsigned>(workers_.size());
  for (int spin = 0;; ++spin) {
    const unsigned done = finished_.load(std::memory_order_acquire);  // pairs with work()'s release
    if (done == others) return;
    if (spin < kSpins) {
      relax();
    } else {
      finished_.wait(done, std::memory_order_acquire);
    }
  }
}

void ThreadPool::work(unsigned worker) {
  uint32_t seen = 0;
  for (;;) {
    for (int spin = 0; loop_.load(std::memory_order_acquire) == seen; ++spin) {
      if (spin < kSpins) {
        relax();
      } else {
        loop_.wait(seen, std::memory_order_acquire);
      }
    }
    ++seen;  // run() waits for every worker, so no loop is ever skipped
    if (stopping_.load(std::memory_order_relaxed)) return;
    take_tasks(worker);
    finished_.fetch_add(1, std::memory_order_release);
    finished_.notify_one();
  }
}

}  // namespace smoe
