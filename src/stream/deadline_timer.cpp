#include "stream/deadline_timer.h"

#include <algorithm>
#include <chrono>

#include "base/clock.h"

namespace smoe {
namespace {

// Bounds both how late a deadline is noticed and how long the destructor waits.
constexpr uint64_t kNapNs = 10'000'000;

}  // namespace

DeadlineTimer::DeadlineTimer(Signal& target) : target_(target), thread_([this] { run(); }) {}

DeadlineTimer::~DeadlineTimer() {
  stopping_.store(true, std::memory_order_relaxed);
  changed_.raise();
  thread_.join();
}

void DeadlineTimer::set(uint64_t deadline_ns) {
  deadline_ns_.store(deadline_ns, std::memory_order_relaxed);
  changed_.raise();
}

void DeadlineTimer::run() {
  for (;;) {
    const uint32_t seen = changed_.seen();
    if (stopping_.load(std::memory_order_relaxed)) return;
    uint64_t deadline = deadline_ns_.load(std::memory_order_relaxed);
    if (deadline == 0) {
      changed_.wait(seen);
      continue;
    }
    const uint64_t now = now_ns();
    if (now < deadline) {
      std::this_thread::sleep_for(std::chrono::nanoseconds(std::min(deadline - now, kNapNs)));
    } else if (deadline_ns_.compare_exchange_strong(deadline, 0, std::memory_order_relaxed)) {
      target_.raise();
    }
  }
}

}  // namespace smoe
