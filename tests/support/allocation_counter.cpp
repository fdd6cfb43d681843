#include "support/allocation_counter.h"

#include <atomic>
#include <cerrno>
#include <cstddef>

// glibc's own names of the functions that are replaced below.
extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* old, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);
}

namespace {

std::atomic<bool> counting{false};
std::atomic<uint64_t> allocations{0};
std::atomic<uint64_t> countdown{0};

bool allowed() {
  if (counting.load(std::memory_order_relaxed)) allocations.fetch_add(1, std::memory_order_relaxed);
  if (countdown.load(std::memory_order_relaxed) == 0) return true;
  if (countdown.fetch_sub(1, std::memory_order_relaxed) != 1) return true;
  errno = ENOMEM;
  return false;
}

}  // namespace

extern "C" {
void* malloc(size_t bytes) { return allowed() ? __libc_malloc(bytes) : nullptr; }
void* calloc(size_t count, size_t bytes) {
  return allowed() ? __libc_calloc(count, bytes) : nullptr;
}
void* realloc(void* old, size_t bytes) { return allowed() ? __libc_realloc(old, bytes) : nullptr; }
void* aligned_alloc(size_t alignment, size_t bytes) {
  return allowed() ? __libc_memalign(alignment, bytes) : nullptr;
}
void* memalign(size_t alignment, size_t bytes) {
  return allowed() ? __libc_memalign(alignment, bytes) : nullptr;
}
int posix_memalign(void** out, size_t alignment, size_t bytes) {
  *out = allowed() ? __libc_memalign(alignment, bytes) : nullptr;
  return *out == nullptr ? ENOMEM : 0;
}
}

namespace smoe::test {

void start_counting_allocations() {
  allocations.store(0);
  counting.store(true);
}

uint64_t stop_counting_allocations() {
  counting.store(false);
  return allocations.load();
}

void fail_allocation(uint64_t n) { countdown.store(n); }

bool allocation_will_fail() { return countdown.load() != 0; }

}  // namespace smoe::test
