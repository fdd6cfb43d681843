#include "stream/arrivals.h"

#include <thread>

#include "base/check.h"

namespace smoe {

// There are more buffers than requests, so one is always free; the queue only hides it while
// another thread is held up in the middle of giving one back.
uint32_t Arrivals::take() {
  uint32_t index = 0;
  while (!free_.pop(index)) std::this_thread::yield();
  return index;
}

void Arrivals::give_back(uint32_t buffer) { SMOE_CHECK(free_.push(buffer)); }

}  // namespace smoe
