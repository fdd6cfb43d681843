// M1, traps 37 and 38: limits of containers, on fake trees of both cgroup versions.
#include "base/system_memory.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/units.h"
#include "support/temp_dir.h"

namespace smoe {
namespace {

namespace fs = std::filesystem;

class Machine {
 public:
  Machine() {
    put("proc/meminfo",
        "MemTotal:       16777216 kB\nMemFree:  1048576 kB\n"
        "MemAvailable:    8388608 kB\nCached:   1048576 kB\n");
    put("sys/devices/system/cpu/online", "0-7\n");
    put("proc/self/status", "Name:\tsmoe\nCpus_allowed:\tff\nCpus_allowed_list:\t0-7\n");
  }
  Machine& put(const std::string& path, const std::string& text) {
    const fs::path file = dir_ / path;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
    return *this;
  }
  Machine& group(const std::string& line) { return put("proc/self/cgroup", line + "\n"); }
  // A file of a group below the mount.
  Machine& in(const std::string& group, const std::string& file, const std::string& text) {
    return put("sys/fs/cgroup/" + group + "/" + file, text + "\n");
  }
  MemoryLimits memory() const { return read_memory_limits(dir_.path()); }
  unsigned processors() const { return usable_processors(dir_.path()); }

 private:
  test::TempDir dir_;
};

TEST(MemoryLimits, AreTheMachinesWithoutAGroup) {
  const MemoryLimits limits = Machine().memory();
  EXPECT_EQ(limits.total_bytes, 16 * kGiB);
  EXPECT_EQ(limits.available_bytes, 8 * kGiB);
  EXPECT_EQ(limits.cgroup_bytes, std::nullopt);
}

TEST(MemoryLimits, TakeMaxForNoLimit) {
  Machine machine;
  machine.group("0::/user").in("user", "memory.max", "max").in("user", "memory.high", "max");
  machine.in("user", "memory.current", "99999999999");
  EXPECT_EQ(machine.memory().available_bytes, 8 * kGiB);
  EXPECT_EQ(machine.memory().cgroup_bytes, std::nullopt);

  Machine old;
  old.group("4:memory:/user").in("memory/user", "memory.limit_in_bytes", "9223372036854771712");
  EXPECT_EQ(old.memory().available_bytes, 8 * kGiB);
  EXPECT_EQ(old.memory().cgroup_bytes, std::nullopt);
}

TEST(MemoryLimits, CountPageCacheAsAvailableInVersion2) {
  Machine machine;
  machine.group("0::/box").in("box", "memory.max", "4294967296");
  machine.in("box", "memory.current", "3221225472");
  machine.in("box", "memory.stat", "anon 1073741824\nfile 2147483648\ninactive_file 2147483648");
  EXPECT_EQ(machine.memory().available_bytes, 3 * kGiB);
  EXPECT_EQ(machine.memory().cgroup_bytes, 4 * kGiB);
}

TEST(MemoryLimits, CountPageCacheAsAvailableInVersion1) {
  Machine machine;
  machine.group("5:cpu:/\n4:memory:/box").in("memory/box", "memory.limit_in_bytes", "4294967296");
  machine.in("memory/box", "memory.usage_in_bytes", "3221225472");
  machine.in("memory/box", "memory.stat", "inactive_file 5\ntotal_inactive_file 2147483648");
  EXPECT_EQ(machine.memory().available_bytes, 3 * kGiB);
  EXPECT_EQ(machine.memory().cgroup_bytes, 4 * kGiB);
}

TEST(MemoryLimits, AreThoseOfTheTightestParent) {
  Machine machine;
  machine.group("0::/a/b/c").in("a/b/c", "memory.max", "max");
  machine.in("a/b", "memory.max", "6442450944").in("a/b", "memory.current", "1073741824");
  machine.in("a", "memory.max", "3221225472").in("a", "memory.current", "1073741824");
  EXPECT_EQ(machine.memory().available_bytes, 2 * kGiB);
  EXPECT_EQ(machine.memory().cgroup_bytes, 3 * kGiB);

  Machine old;
  old.group("4:memory:/a/b").in("memory/a/b", "memory.limit_in_bytes", "6442450944");
  old.in("memory/a", "memory.limit_in_bytes", "2147483648");
  EXPECT_EQ(old.memory().available_bytes, 2 * kGiB);
}

TEST(MemoryLimits, SeeALimitThatTheMountDoesNotShow) {
  Machine machine;
  machine.group("4:memory:/docker/id").in("memory", "memory.limit_in_bytes", "9223372036854771712");
  machine.in("memory", "memory.stat", "hierarchical_memory_limit 2147483648");
  EXPECT_EQ(machine.memory().cgroup_bytes, 2 * kGiB);
}

TEST(MemoryLimits, FindTheGroupWhereTheContainersMountShowsItsTailOnly) {
  Machine machine;
  machine.group("0::/docker/id/worker").in("worker", "memory.max", "1073741824");
  machine.in("", "memory.max", "2147483648").in("", "memory.current", "0");
  EXPECT_EQ(machine.memory().cgroup_bytes, kGiB);

  Machine root_only;  // the usual container: the mount is the group
  root_only.group("0::/docker/id").in("", "memory.max", "2147483648");
  EXPECT_EQ(root_only.memory().cgroup_bytes, 2 * kGiB);
}

TEST(MemoryLimits, TakeBothVersionsOfAHybridMachine) {
  Machine machine;
  machine.group("4:memory:/a\n0::/b").in("memory/a", "memory.limit_in_bytes", "4294967296");
  machine.in("unified/b", "memory.max", "2147483648");
  EXPECT_EQ(machine.memory().cgroup_bytes, 2 * kGiB);
}

TEST(MemoryLimits, AreZeroNotNegativeInAnOverfullGroup) {
  Machine machine;
  machine.group("0::/a").in("a", "memory.max", "1073741824");
  machine.in("a", "memory.current", "2147483648");
  EXPECT_EQ(machine.memory().available_bytes, 0U);

  Machine cache;  // the two files are read one after the other and may disagree
  cache.group("0::/a").in("a", "memory.max", "1073741824").in("a", "memory.current", "5");
  cache.in("a", "memory.stat", "inactive_file 10");
  EXPECT_EQ(cache.memory().available_bytes, kGiB);
}

TEST(MemoryLimits, RespectTheThrottlingLimit) {
  Machine machine;
  machine.group("0::/a").in("a", "memory.max", "max").in("a", "memory.high", "1073741824");
  EXPECT_EQ(machine.memory().available_bytes, kGiB);
}

TEST(MemoryLimits, SurviveFilesOfNonsense) {
  Machine machine;
  machine.put("proc/meminfo", "MemTotal\n\nMemAvailable: x kB\n");
  machine.put("proc/self/cgroup", "::\n:\n0:\n\n0::\nx:memory\n4:memory:../../..\n");
  machine.in("", "memory.max", "-5").in("memory", "memory.limit_in_bytes", "");
  machine.in("", "cpu.max", "max").in("cpu", "cpu.cfs_quota_us", "7");
  EXPECT_EQ(machine.memory().available_bytes, 0U);
  EXPECT_EQ(machine.processors(), 8U);
}

TEST(MemoryLimits, OfThisMachineAreSane) {
  const MemoryLimits limits = read_memory_limits();
  EXPECT_GT(limits.total_bytes, 64 * kMiB);
  EXPECT_GT(limits.available_bytes, 0U);
  EXPECT_LE(limits.available_bytes, limits.total_bytes);
  EXPECT_GT(peak_resident_bytes(), kMiB);
}

TEST(Processors, AreThoseOfTheAffinityMaskThatAreOnline) {
  Machine machine;
  EXPECT_EQ(machine.processors(), 8U);
  machine.put("proc/self/status", "Cpus_allowed_list:\t0-1,4,9-200\n");
  EXPECT_EQ(machine.processors(), 3U);
}

TEST(Processors, FollowTheCpuset) {
  Machine machine;
  machine.group("0::/a").in("a", "cpuset.cpus.effective", "2-4");
  EXPECT_EQ(machine.processors(), 3U);
  Machine old;
  old.group("3:cpuset:/a").in("cpuset/a", "cpuset.cpus", "5");
  EXPECT_EQ(old.processors(), 1U);
}

// traps 38: two processors of quota on a machine of eight.
TEST(Processors, AreTheFloorOfTheQuotaInVersion2) {
  Machine machine;
  machine.group("0::/a/b").in("a/b", "cpu.max", "max 100000").in("a", "cpu.max", "200000 100000");
  EXPECT_EQ(machine.processors(), 2U);
  machine.in("a", "cpu.max", "390000 100000");
  EXPECT_EQ(machine.processors(), 3U);
  machine.in("a", "cpu.max", "50000 100000");
  EXPECT_EQ(machine.processors(), 1U);
}

TEST(Processors, AreTheFloorOfTheQuotaInVersion1) {
  Machine machine;
  machine.group("2:cpu,cpuacct:/a").in("cpu,cpuacct/a", "cpu.cfs_quota_us", "250000");
  machine.in("cpu,cpuacct/a", "cpu.cfs_period_us", "100000");
  EXPECT_EQ(machine.processors(), 2U);
  machine.in("cpu,cpuacct/a", "cpu.cfs_quota_us", "-1");
  EXPECT_EQ(machine.processors(), 8U);
  machine.in("cpu,cpuacct", "cpu.cfs_quota_us", "100000");
  machine.in("cpu,cpuacct", "cpu.cfs_period_us", "100000");
  EXPECT_EQ(machine.processors(), 1U);
}

TEST(HugePages, AreCountedInWhatNoFileBacks) {
  const test::TempDir root;
  EXPECT_FALSE(read_huge_pages(root.path()));
  fs::create_directories(root / "proc/self");
  std::ofstream(root / "proc/self/smaps_rollup")
      << "55d0-7ffc ---p 00000000 00:00 0 [rollup]\nRss:  9000 kB\nAnonymous:  8192 kB\n"
         "AnonHugePages:  6144 kB\nShmemPmdMapped:  0 kB\n";
  const auto pages = read_huge_pages(root.path());
  ASSERT_TRUE(pages);
  EXPECT_EQ(pages->memory_bytes, 8 * kMiB);
  EXPECT_EQ(pages->huge_bytes, 6 * kMiB);
}

}  // namespace
}  // namespace smoe
