// D10: SIGKILL at random moments, again and again, until a run gets through.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/rng.h"
#include "shatter/shattering.h"

namespace smoe {
namespace {

namespace fs = std::filesystem;

using test::run_shatter;
using test::snapshot;

// Finished vault files and the inodes that hold them.
std::map<std::string, uint64_t> finished_files(const fs::path& model) {
  std::map<std::string, uint64_t> found;
  if (!fs::exists(model / "vault")) return found;
  for (const auto& entry : fs::directory_iterator(model / "vault")) {
    struct stat info {};
    if (entry.path().extension() == ".safetensors" && ::stat(entry.path().c_str(), &info) == 0)
      found[entry.path().filename().string()] = info.st_ino;
  }
  return found;
}

TEST(Kill, AtRandomMomentsEndsInTheSameModel) {
  const test::Workshop shop({.layers = 4, .experts = 6});
  test::shatter_folder(shop.checkpoint, shop.folder / "whole");
  const auto wanted = snapshot(shop.folder / "whole");
  const std::map<std::string, std::string> slow = {{"SMOE_FAULT_UNDER", shop.model.string()},
                                                   {"SMOE_FAULT_PAUSE", "1000"}};
  const uint64_t begin_ns = now_ns();
  ASSERT_EQ(run_shatter(shop, slow).exit_code, 0);
  const double whole_seconds = seconds_between(begin_ns, now_ns());
  EXPECT_TRUE(snapshot(shop.model) == wanted);

  Rng rng(20);
  int kills = 0;
  int resumed = 0;
  while (kills < 20) {
    fs::remove_all(shop.model);
    for (;;) {
      const auto before = finished_files(shop.model);
      const auto run = run_shatter(shop, slow, (0.02 + 0.98 * rng.uniform()) * whole_seconds);
      // What was finished is neither lost nor made again.
      const auto after = finished_files(shop.model);
      for (const auto& [name, inode] : before) {
        ASSERT_TRUE(after.contains(name)) << name;
        EXPECT_EQ(after.at(name), inode) << name;
      }
      if (run.exit_code == 0) break;
      ASSERT_EQ(run.exit_code, -1) << run.err;
      resumed += after.empty() ? 0 : 1;
      if (++kills >= 20) {
        ASSERT_EQ(run_shatter(shop, {}).exit_code, 0);
        break;
      }
    }
    EXPECT_TRUE(snapshot(shop.model) == wanted);
  }
  EXPECT_GT(resumed, 3);
  EXPECT_EQ(test::problems_in(shop.model), std::vector<std::string>());
}

}  // namespace
}  // namespace smoe
