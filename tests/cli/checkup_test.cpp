// What smoe doctor says of machines that it is told about, and of this one.
#include "cli/checkup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "cli/smoe.h"
#include "support/temp_dir.h"

namespace smoe::cli {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

Examination well() {
  Examination seen;
  seen.machine.memory = {32 * kGiB, 24 * kGiB, {}};
  seen.machine.huge_pages = "madvise";
  seen.file_system = {"ext4", "/dev/nvme0n1p2", "/", false, false, false};
  seen.processor = "CPU, AVX2, 8 threads";
  seen.memory_bytes_per_second = 30e9;
  seen.probed = "/models/vault/layer-00000.safetensors";
  seen.disk = DiskSpeed{true, 3e9, 2.5e9, 900'000, 2 * kMiB};
  return seen;
}

Finding finding(const Examination& seen, const std::string& name) {
  for (const Finding& one : findings_of(seen))
    if (one.name == name) return one;
  ADD_FAILURE() << "nothing is said of " << name;
  return {};
}

TEST(Checkup, FindsNothingWrongWithAGoodMachine) {
  for (const Finding& one : findings_of(well())) {
    EXPECT_EQ(one.verdict, Verdict::kGood) << one.name << ": " << one.fact;
    EXPECT_EQ(one.remedy, "") << one.name;
  }
  EXPECT_THAT(findings_text(findings_of(well())), HasSubstr("all is well"));
}

TEST(Checkup, HasARemedyForWhateverIsNotGood) {
  Examination seen;  // nothing is known, no memory, no disk
  seen.uring = Error{Code::kUnsupported, "io_uring: io_uring_setup failed"};
  seen.machine.locked_limit_bytes = 64 * kKiB;
  seen.machine.swap_bytes = kGiB;
  seen.machine.swap_used_bytes = kGiB;
  for (const Finding& one : findings_of(seen)) {
    if (one.verdict == Verdict::kGood) continue;
    EXPECT_NE(one.fact, "") << one.name;
    EXPECT_NE(one.remedy, "") << one.name;
  }
}

TEST(Checkup, NamesTheGpusAndWhatTheyLack) {
  Examination seen = well();
  EXPECT_EQ(finding(seen, "GPU").fact, "none: the processor computes");
  seen.no_gpus = "no loader";
  EXPECT_EQ(finding(seen, "GPU").fact, "none: the processor computes (no loader)");
  GpuFacts software;
  software.kind = "processor";
  GpuFacts real;
  real.index = 1;
  real.name = "Good Card";
  real.kind = "discrete GPU";
  real.memory_bytes = 8 * kGiB;
  seen.gpus = {software, real};
  EXPECT_EQ(finding(seen, "GPU").fact, "gpu:1, Good Card, 8.00 GiB of its own");
  EXPECT_EQ(finding(seen, "GPU").verdict, Verdict::kGood);
  seen.gpus[1].missing = "timelineSemaphore";
  EXPECT_EQ(finding(seen, "GPU").verdict, Verdict::kFair);
  EXPECT_THAT(finding(seen, "GPU").remedy, HasSubstr("gpu:1 lacks timelineSemaphore"));
}

TEST(Checkup, JudgesTheDiskByItsRandomReads) {
  Examination seen = well();
  seen.disk->random_bytes_per_second = 0.1e9;
  EXPECT_EQ(finding(seen, "disk").verdict, Verdict::kBad);
  seen.file_system.rotational = true;
  EXPECT_THAT(finding(seen, "disk").remedy, HasSubstr("SSD"));
  seen.disk->random_bytes_per_second = 1e9;
  EXPECT_EQ(finding(seen, "disk").verdict, Verdict::kFair);
}

TEST(Checkup, SaysThatDirectReadsAreNotHonest) {
  Examination seen = well();
  seen.disk->direct = false;
  EXPECT_EQ(finding(seen, "file system").verdict, Verdict::kFair);
  seen.file_system.remote = true;
  EXPECT_EQ(finding(seen, "file system").verdict, Verdict::kBad);
  seen.file_system.remote = false;
  seen.file_system.in_memory = true;
  EXPECT_EQ(finding(seen, "file system").verdict, Verdict::kBad);
}

TEST(Checkup, NamesTheGroupsLimitAndPressure) {
  Examination seen = well();
  seen.machine.memory.cgroup_bytes = 4 * kGiB;
  seen.machine.memory_pressure = 0.4;
  const Finding memory = finding(seen, "memory");
  EXPECT_EQ(memory.verdict, Verdict::kBad);
  EXPECT_THAT(memory.fact, HasSubstr("limit of 4.00 GiB"));
  EXPECT_THAT(memory.fact, HasSubstr("40 %"));
}

TEST(LargestFile, IsFoundBelowAndLinksAreNotFollowed) {
  test::TempDir dir;
  fs::create_directories(dir / "a/b");
  std::ofstream(dir / "a/b/large") << std::string(1000, 'x');
  std::ofstream(dir / "small") << "x";
  fs::create_directory_symlink(dir.path(), dir / "a/loop");
  EXPECT_EQ(largest_file(dir.path()), fs::path(dir / "a/b/large"));
  EXPECT_EQ(largest_file(dir / "small"), fs::path(dir / "small"));
  EXPECT_EQ(largest_file(dir / "nothing"), fs::path());
}

TEST(Doctor, ExaminesThisMachineAndWritesNothing) {
  test::TempDir dir;
  const auto result = smoe({"doctor", dir.path().string(), "--json"});
  EXPECT_TRUE(result.status == 0 || result.status == 1) << result.err;
  const auto report = nlohmann::json::parse(result.out);
  EXPECT_EQ(report["well"], result.status == 0);
  EXPECT_GE(report["findings"].size(), 9U);
  EXPECT_GT(report["memory_bytes_per_second"], 0.0);
  EXPECT_TRUE(fs::is_empty(dir.path()));

  const auto text = smoe({"doctor", dir.path().string()});
  EXPECT_EQ(text.status, result.status);
  EXPECT_THAT(text.out, HasSubstr("name a model, or a folder with a large file"));
  expect_one_error(smoe({"doctor", dir / "missing"}), 1);
}

}  // namespace
}  // namespace smoe::cli
