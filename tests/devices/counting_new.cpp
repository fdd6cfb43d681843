// The program's own operator new. It stands in a file of its own so that no caller is inlined with
// it: compilers would take free() in the matching delete for a mistake.
#include "devices/counting_new.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {
std::atomic<size_t> count{0};
}  // namespace

size_t smoe::test::allocations() { return count.load(std::memory_order_relaxed); }

void* operator new(std::size_t size) {
  count.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
