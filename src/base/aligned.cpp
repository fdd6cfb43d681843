#include "base/aligned.h"

#include <sys/mman.h>

#include <cstdint>
#include <utility>

#include "base/system_memory.h"
#include "base/units.h"

namespace smoe {
namespace {

// Below this a huge page would waste more than it saves in address translation.
constexpr size_t kHugePageThreshold = 4 * kMiB;
constexpr size_t kHugePageBytes = 2 * kMiB;

}  // namespace

AlignedBuffer::AlignedBuffer(AlignedBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      mapped_(std::exchange(other.mapped_, 0)) {}

AlignedBuffer& AlignedBuffer::operator=(AlignedBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(mapped_, other.mapped_);
  return *this;
}

AlignedBuffer::~AlignedBuffer() {
  if (data_ != nullptr) ::munmap(data_, mapped_);
}

Result<AlignedBuffer> AlignedBuffer::allocate(size_t bytes) {
  if (bytes == 0) return AlignedBuffer();
  if (bytes > SIZE_MAX / 2)  // rounding up must not wrap
    return Error{Code::kNoMemory,
                 "cannot reserve " + format_bytes(bytes) + " of memory" + address_space_hint()};
  const bool huge = bytes >= kHugePageThreshold;
  const size_t alignment = huge ? kHugePageBytes : kPageBytes;
  const size_t wanted = align_up(bytes, kPageBytes);
  // mmap only promises 4 KiB: map more, then give back both ends, but for a page that nobody may
  // touch: what runs over the end is stopped there.
  const size_t reserved = wanted + alignment + kPageBytes;
  void* raw = ::mmap(nullptr, reserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED)
    return Error{Code::kNoMemory,
                 "cannot reserve " + format_bytes(wanted) + " of memory" + address_space_hint()};
  auto* base = static_cast<std::byte*>(raw);
  const auto address = reinterpret_cast<uintptr_t>(raw);
  const size_t head = align_up(address, uintptr_t{alignment}) - address;
  if (head > 0) ::munmap(base, head);
  auto* data = base + head;
  auto* guard = data + wanted;
  if (::mprotect(guard, kPageBytes, PROT_NONE) != 0) {
    ::munmap(data, reserved - head);
    return Error{Code::kNoMemory, "cannot guard " + format_bytes(wanted) + " of memory"};
  }
  if (const size_t tail = reserved - head - wanted - kPageBytes; tail > 0)
    ::munmap(guard + kPageBytes, tail);
  if (huge) ::madvise(data, wanted, MADV_HUGEPAGE);  // a hint: refusal changes speed only
  return AlignedBuffer(data, wanted, wanted + kPageBytes);
}

void give_back_pages(std::span<std::byte> memory) {
  ::madvise(memory.data(), memory.size(), MADV_DONTNEED);
}

}  // namespace smoe
