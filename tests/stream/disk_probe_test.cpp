#include "stream/disk_probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/units.h"
#include "support/temp_dir.h"

namespace smoe {
namespace {

namespace fs = std::filesystem;

// Speed is never asserted, only that something was measured.
constexpr DiskProbeOptions kShort{.block_bytes = 64 * kKiB, .readers = 2, .time_ns = 20'000'000};

class DiskProbe : public testing::Test {
 protected:
  fs::path file(const std::string& name, size_t bytes) {
    const fs::path path = dir_ / name;
    std::ofstream(path, std::ios::binary) << std::string(bytes, 'x');
    return path;
  }
  test::TempDir dir_;
};

TEST_F(DiskProbe, MeasuresSeveralFilesAndChangesNone) {
  const std::vector<fs::path> files{file("a", 512 * kKiB), file("b", 70 * kKiB), file("c", 5)};
  const auto speed = probe_disk(files, kShort);
  ASSERT_TRUE(speed) << speed.error().message;
  EXPECT_GT(speed->sequential_bytes_per_second, 0);
  EXPECT_GT(speed->random_bytes_per_second, 0);
  EXPECT_GT(speed->latency_ns, 0U);
  EXPECT_EQ(speed->block_bytes, 64 * kKiB);
  EXPECT_EQ(fs::file_size(files[0]), 512 * kKiB);
  EXPECT_EQ(std::distance(fs::directory_iterator(dir_.path()), fs::directory_iterator()), 3);
}

TEST_F(DiskProbe, TakesSmallerBlocksWhereFilesAreSmall) {
  const fs::path path = file("a", 40 * kKiB);
  const auto speed = probe_disk({&path, 1}, kShort);
  ASSERT_TRUE(speed);
  EXPECT_EQ(speed->block_bytes, 32 * kKiB);
}

TEST_F(DiskProbe, RefusesWhatIsMissingOrTooSmall) {
  const fs::path missing = dir_ / "missing";
  const auto nothing = probe_disk({&missing, 1}, kShort);
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().code, Code::kNotFound);
  const fs::path small = file("small", 100);
  ASSERT_FALSE(probe_disk({&small, 1}, kShort));
  EXPECT_EQ(probe_disk({&small, 1}, kShort).error().code, Code::kUsage);
  EXPECT_EQ(probe_disk({}, kShort).error().code, Code::kUsage);
}

}  // namespace
}  // namespace smoe
