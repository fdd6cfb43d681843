#include "base/aligned.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/units.h"

namespace smoe {
namespace {

bool is_zero(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

TEST(AlignedBuffer, IsZeroedWholePagesOnAPageBoundary) {
  for (const size_t bytes : {size_t{1}, kPageBytes, kPageBytes + 1, size_t{5 * kMiB}}) {
    const auto buffer = AlignedBuffer::allocate(bytes);
    ASSERT_TRUE(buffer) << buffer.error().message;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer->data()) % kPageBytes, 0U);
    EXPECT_EQ(buffer->size(), align_up(bytes, kPageBytes));
    EXPECT_TRUE(is_zero(buffer->bytes()));
  }
}

TEST(AlignedBufferDeathTest, StopsWhatRunsOverItsEnd) {
  auto buffer = AlignedBuffer::allocate(100'000);
  ASSERT_TRUE(buffer);
  volatile std::byte* end = buffer->data() + buffer->size();
  end[-1] = std::byte{1};
  EXPECT_DEATH(end[0] = std::byte{1}, "");
}

TEST(AlignedBuffer, OfNoBytesIsEmpty) {
  const auto buffer = AlignedBuffer::allocate(0);
  ASSERT_TRUE(buffer);
  EXPECT_TRUE(buffer->bytes().empty());
}

TEST(AlignedBuffer, HandsItsMemoryOnWhenMoved) {
  auto first = AlignedBuffer::allocate(kPageBytes);
  ASSERT_TRUE(first);
  first->data()[7] = std::byte{42};
  AlignedBuffer second = std::move(*first);
  AlignedBuffer third;
  third = std::move(second);
  EXPECT_EQ(third.data()[7], std::byte{42});
}

TEST(AlignedBuffer, RefusesWhatTheMachineCannotReserve) {
  for (const size_t bytes : {std::numeric_limits<size_t>::max(), size_t{1} << 62}) {
    const auto buffer = AlignedBuffer::allocate(bytes);
    ASSERT_FALSE(buffer);
    EXPECT_EQ(buffer.error().code, Code::kNoMemory);
  }
}

}  // namespace
}  // namespace smoe
