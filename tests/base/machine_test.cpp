// Facts of machines, on fake trees of /proc and /sys.
#include "base/machine.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/units.h"
#include "support/temp_dir.h"

namespace smoe {
namespace {

namespace fs = std::filesystem;

class FakeMachine {
 public:
  FakeMachine& put(const std::string& path, const std::string& text) {
    const fs::path file = dir_ / path;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
    return *this;
  }
  MachineFacts facts() const { return read_machine_facts(dir_.path()); }
  FileSystemFacts file_system(const fs::path& path) const {
    return file_system_of(path, dir_.path());
  }

 private:
  test::TempDir dir_;
};

TEST(MachineFacts, TellSwapHugePagesLimitsAndPressure) {
  FakeMachine machine;
  machine.put("proc/meminfo",
              "MemTotal: 16384 kB\nMemAvailable: 8192 kB\nSwapTotal: 4096 kB\nSwapFree: 1024 kB\n");
  machine.put("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
  machine.put("proc/self/status", "CapEff:\t0000000000000000\n");
  machine.put("proc/self/limits",
              "Limit                     Soft Limit           Hard Limit           Units\n"
              "Max locked memory         8388608              9388608              bytes\n");
  machine.put("proc/pressure/memory",
              "some avg10=12.50 avg60=0.40 avg300=0.10 total=9\nfull avg10=3.00 avg60=0 total=1\n");
  const MachineFacts facts = machine.facts();
  EXPECT_EQ(facts.swap_bytes, 4 * kMiB);
  EXPECT_EQ(facts.swap_used_bytes, 3 * kMiB);
  EXPECT_EQ(facts.huge_pages, "madvise");
  EXPECT_EQ(facts.locked_limit_bytes, 8 * kMiB);
  EXPECT_DOUBLE_EQ(facts.memory_pressure.value_or(0), 0.125);
}

TEST(MachineFacts, KnowOfNoLimitForWhoMayLockAllOrIsUnlimited) {
  FakeMachine root;
  root.put("proc/self/status", "CapEff:\t000001ffffffffff\n");
  root.put("proc/self/limits", "Max locked memory         65536   65536   bytes\n");
  EXPECT_EQ(root.facts().locked_limit_bytes, std::nullopt);
  FakeMachine unlimited;
  unlimited.put("proc/self/limits", "Max locked memory    unlimited   unlimited   bytes\n");
  EXPECT_EQ(unlimited.facts().locked_limit_bytes, std::nullopt);
}

TEST(MachineFacts, AreEmptyWhereTheKernelTellsNothing) {
  const MachineFacts facts = FakeMachine().facts();
  EXPECT_EQ(facts.huge_pages, "");
  EXPECT_EQ(facts.memory_pressure, std::nullopt);
  EXPECT_EQ(facts.swap_bytes, 0U);
  EXPECT_GE(facts.processors, 1U);
}

TEST(MemoryPressure, IsThatOfTheGroupWhereOneTells) {
  FakeMachine machine;
  machine.put("proc/self/cgroup", "0::/box\n");
  machine.put("sys/fs/cgroup/box/memory.pressure", "some avg10=50.00 avg60=0 avg300=0 total=1\n");
  machine.put("proc/pressure/memory", "some avg10=1.00 avg60=0 avg300=0 total=1\n");
  EXPECT_DOUBLE_EQ(machine.facts().memory_pressure.value_or(0), 0.5);
}

constexpr const char* kMounts =
    "22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw\n"
    "23 22 0:20 / /tmp rw - tmpfs tmpfs rw\n"
    "24 22 8:1 / /mnt/my\\040disk rw - xfs /dev/sda1 rw\n"
    "25 22 0:30 / /mnt/far rw - nfs4 server:/x rw\n";

TEST(FileSystemFacts, AreThoseOfTheDeepestMount) {
  FakeMachine machine;
  machine.put("proc/self/mountinfo", kMounts);
  machine.put("sys/dev/block/8:1/queue/rotational", "1\n");
  machine.put("sys/dev/block/254:1/queue/rotational", "0\n");
  const FileSystemFacts top = machine.file_system("/home/model");
  EXPECT_EQ(top.type, "ext4");
  EXPECT_EQ(top.source, "/dev/vda1");
  EXPECT_EQ(top.rotational, false);
  const FileSystemFacts disk = machine.file_system("/mnt/my disk/model");
  EXPECT_EQ(disk.type, "xfs");
  EXPECT_EQ(disk.mount_point, "/mnt/my disk");
  EXPECT_EQ(disk.rotational, true);
  EXPECT_TRUE(machine.file_system("/mnt/far/model").remote);
  EXPECT_TRUE(machine.file_system("/tmp/model").in_memory);
  EXPECT_FALSE(machine.file_system("/tmpfoo").in_memory) << "only whole names count";
  EXPECT_EQ(FakeMachine().file_system("/").type, "");
}

}  // namespace
}  // namespace smoe
