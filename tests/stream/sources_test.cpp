// Rules about the room's own sources that no compiler checks.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/file.h"
#include "base/units.h"

namespace smoe {
namespace {

TEST(StreamSources, LockNothingAndSleepOnAtomicsOnly) {
  int files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(SMOE_SOURCE_DIR) / "src/stream")) {
    const auto text = read_text_file(entry.path(), kMiB);
    ASSERT_TRUE(text);
    ++files;
    for (const char* word : {"mutex", "condition_variable", "lock_guard", "unique_lock",
                             "semaphore", "pthread_", "yield("})
      EXPECT_EQ(text->find(word), std::string::npos) << entry.path() << " has " << word;
  }
  EXPECT_GT(files, 10);
}

// Memory is ordered by slot.h and request_queue.h alone; elsewhere atomics are relaxed.
TEST(StreamSources, OrderMemoryInTwoFilesOnly) {
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(SMOE_SOURCE_DIR) / "src/stream")) {
    const std::string name = entry.path().filename().string();
    if (name == "slot.h" || name == "request_queue.h") continue;
    const auto text = read_text_file(entry.path(), kMiB);
    ASSERT_TRUE(text);
    for (const char* word : {"memory_order_acquire", "memory_order_release", "memory_order_acq_rel",
                             "memory_order_seq_cst", "atomic_thread_fence"})
      EXPECT_EQ(text->find(word), std::string::npos) << entry.path() << " has " << word;
  }
}

}  // namespace
}  // namespace smoe
