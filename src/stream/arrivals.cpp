#include "stream/arrivals.h"

#include "base/check.h"

namespace smoe {

// There are more buffers than requests, so one is always free; the queue only hides it while
// another thread is held up in the middle of giving one back, which then says so.
uint32_t Arrivals::take() {
  for (uint32_t index = 0;;) {
    const uint32_t seen = given_back_.load();
    if (free_.pop(index)) return index;
    given_back_.wait(seen);
  }
}

void Arrivals::give_back(uint32_t buffer) {
  SMOE_CHECK(free_.push(buffer));
  given_back_.fetch_add(1);
  given_back_.notify_all();
}

}  // namespace smoe
