// Weight matrices applied to rows: the product itself, and the two operations made of it.
#pragma once

#include <span>

#include "base/thread_pool.h"
#include "compute/calls.h"
#include "devices/cpu/host_views.h"
#include "devices/cpu/kernels/kernel_table.h"
#include "devices/cpu/scratch.h"

namespace smoe::cpu {

// What every operation works with.
struct Means {
  const KernelTable& kernels;
  ThreadPool& pool;
  Scratch& scratch;
  bool rounds = false;  // activations for BF16 weights to BF16
};

using RowPointers = std::span<const std::byte* const>;

// out[row] = weight . rows[row]; the rows are in the form that the weight's format wants.
struct Product {
  HostMatrix weight;
  RowPointers rows;
  float* out;
  size_t out_stride;  // floats
};

// Rows of the first of as few and as equal passes as possible: 9 rows go as 5 and 4, not 8 and 1.
inline uint32_t pass_size(uint32_t rows, uint32_t max_rows) {
  return ceil_div(rows, ceil_div(rows, max_rows));
}

// Rows of floats in the form that `format` wants: themselves, or quantised or rounded copies in the
// scratch.
RowPointers prepare_rows(const Means& means, Format format, RowPointers rows, uint32_t cols);

// Columns [16 begin, 16 end) of the product. `tiles`: the worker's own memory.
void multiply_tiles(const KernelTable& kernels, const Product& product, uint32_t begin,
                    uint32_t end, float* tiles);

void project(const Means& means, const ProjectCall& call);
void run_expert(const Means& means, const ExpertCall& call);

}  // namespace smoe::cpu
