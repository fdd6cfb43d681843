// How often the program has asked the heap for memory.
#pragma once

#include <cstddef>

namespace smoe::test {

size_t allocations();

}  // namespace smoe::test
