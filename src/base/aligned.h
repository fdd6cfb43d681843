// Anonymous memory on a page boundary, in huge pages where the kernel grants them.
#pragma once

#include <cstddef>
#include <span>

#include "base/result.h"

namespace smoe {

class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  AlignedBuffer(AlignedBuffer&& other) noexcept;
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept;
  ~AlignedBuffer();

  // Zeroed, kPageBytes-aligned; `bytes` is rounded up to whole pages. Memory is touched on use. The
  // page behind the last one stops the process that reads or writes it.
  // Fails: kNoMemory.
  static Result<AlignedBuffer> allocate(size_t bytes);

  std::span<std::byte> bytes() const { return {data_, size_}; }
  std::byte* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  AlignedBuffer(std::byte* data, size_t size, size_t mapped)
      : data_(data), size_(size), mapped_(mapped) {}

  std::byte* data_ = nullptr;
  size_t size_ = 0;    // usable bytes
  size_t mapped_ = 0;  // handed to munmap
};

// Gives whole pages of an AlignedBuffer's memory back to the system; they are zero when they are
// next read. Nothing else may be using them: no read under way, no registration with the kernel.
void give_back_pages(std::span<std::byte> memory);

}  // namespace smoe
