// Counts every heap allocation of the program (malloc and what is built on it) while armed.
// Link support/allocation_counter.cpp into a program of its own: it replaces malloc.
#pragma once

#include <cstdint>

namespace smoe::test {

void start_counting_allocations();
// Allocations by any thread since start.
uint64_t stop_counting_allocations();

// The n-th allocation from now on (1 is the next) fails, once; 0 disarms.
void fail_allocation(uint64_t n);
// Whether the allocation that shall fail has not come yet.
bool allocation_will_fail();

}  // namespace smoe::test
