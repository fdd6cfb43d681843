// How fast the threads of a pool read memory: the ceiling for kernels that stream weights.
#pragma once

#include <cstddef>
#include <span>

#include "base/thread_pool.h"

namespace smoe {

// Bytes a second, the best of several passes over `memory`. Placement and size of the pages decide
// much of it, so measure on the pages that the kernels read. What fits into the processor's caches
// is read from there. Takes about 0.2 s.
double read_bandwidth(ThreadPool& pool, std::span<const std::byte> memory);

}  // namespace smoe
