// Pages of the KV cache in host memory, in every type that they are kept in.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compute/tensor.h"
#include "devices/cpu/kernels/kernel_table.h"

namespace smoe::cpu {

// One head's keys and values in one page, as kernels read them: f32.
struct PageView {
  const float* keys;    // two tiles [head_dim][16 positions]
  const float* values;  // [32 positions][head_dim]
};

class HostPages {
 public:
  // Widest head whose page fits into a worker's `tiles` as f32.
  static constexpr uint32_t kWidestHead = 512;

  explicit HostPages(const KvPages& pages);

  // Rounds a key and a value [head_dim] to the type and puts them at a position of the page.
  // Threads: any, of different positions.
  void store(uint32_t page, uint32_t head, uint32_t position, const float* key,
             const float* value) const;

  // In place where the page is f32; else widened into `room` ([2][32][head_dim], and seven floats
  // more), whatever its positions hold.
  PageView view(const KernelTable& kernels, uint32_t page, uint32_t head, float* room) const;

  uint32_t head_dim() const { return pages_.head_dim; }

 private:
  std::byte* keys(uint32_t page, uint32_t head) const;

  KvPages pages_;
  std::byte* data_;
  size_t capacity_;  // pages
};

}  // namespace smoe::cpu
