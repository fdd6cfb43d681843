// Ends a wait at a given time: the standard's atomic wait has no time-out of its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "stream/request_queue.h"

namespace smoe {

// One thread that raises a signal when the time has come. While a deadline is set it naps in short
// pieces, else it sleeps. Threads: one sets deadlines. Cost: no allocation.
class DeadlineTimer {
 public:
  // Lifetime: `target` outlives the timer.
  explicit DeadlineTimer(Signal& target);
  ~DeadlineTimer();
  DeadlineTimer(const DeadlineTimer&) = delete;
  DeadlineTimer& operator=(const DeadlineTimer&) = delete;

  // Replaces the deadline that was set before; in the time of now_ns(). The signal may be raised
  // without need, never later than a nap (10 ms) after the deadline.
  void set(uint64_t deadline_ns);
  void clear() { deadline_ns_.store(0, std::memory_order_relaxed); }

 private:
  void run();

  Signal& target_;
  Signal changed_;
  std::atomic<uint64_t> deadline_ns_{0};  // 0: none. Relaxed, like stopping_: changed_ orders both
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace smoe
