// D9, D12, trap 42: each call to the file system fails once, for all of them.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/units.h"
#include "shatter/shattering.h"

namespace smoe {
namespace {

namespace fs = std::filesystem;

using test::run_shatter;
using test::snapshot;

class Faults : public testing::Test {
 protected:
  Faults() : shop_({.layers = 2, .experts = 3, .dense_layers = {1}}) {
    test::shatter_folder(shop_.checkpoint, shop_.folder / "whole");
    wanted_ = snapshot(shop_.folder / "whole");
    checkpoint_ = snapshot(shop_.checkpoint);
  }

  std::map<std::string, std::string> environment(int at, int error, const std::string& only,
                                                 bool sticky) const {
    std::map<std::string, std::string> result = {{"SMOE_FAULT_UNDER", shop_.model.string()},
                                                 {"SMOE_FAULT_AT", std::to_string(at)},
                                                 {"SMOE_FAULT_ERRNO", std::to_string(error)},
                                                 {"SMOE_FAULT_ONLY", only},
                                                 {"SMOE_FAULT_FIRED", shop_.folder / "fired"}};
    if (sticky) result["SMOE_FAULT_STICKY"] = "1";
    return result;
  }

  // Whatever has a final name is whole.
  void expect_nothing_half(const test::Snapshot& found) const {
    for (const auto& [name, content] : found) {
      EXPECT_FALSE(name.ends_with(".partial")) << name;
      ASSERT_TRUE(wanted_.contains(name)) << name;
      EXPECT_TRUE(content == wanted_.at(name)) << name;
    }
  }

  // Fails the k-th call for all k; returns how many there are.
  int fail_each(int error, const std::string& only = "", bool sticky = false) {
    for (int at = 1; !testing::Test::HasFailure(); ++at) {
      fs::remove_all(shop_.model);
      fs::remove(shop_.folder / "fired");
      const test::Run run = run_shatter(shop_, environment(at, error, only, sticky));
      if (!fs::exists(shop_.folder / "fired")) return at - 1;  // there are no more calls
      SCOPED_TRACE("call " + std::to_string(at) + " " + only + ", exit " +
                   std::to_string(run.exit_code) + ": " + run.err);
      // Closing a folder after its sync can fail without a loss.
      if (run.exit_code != 0) expect_one_clear_line(run, error);
      if (fs::exists(shop_.model)) expect_nothing_half(snapshot(shop_.model));
      test::shatter_folder(shop_.checkpoint, shop_.model);
      EXPECT_TRUE(snapshot(shop_.model) == wanted_);
    }
    return 0;
  }

  // It names the place and the reason.
  void expect_one_clear_line(const test::Run& run, int error) const {
    EXPECT_EQ(run.exit_code, 1);
    EXPECT_EQ(run.err.find('\n'), run.err.size() - 1);
    EXPECT_TRUE(run.err.starts_with("error: "));
    EXPECT_NE(run.err.find(shop_.model.string()), std::string::npos);
    EXPECT_NE(run.err.find(std::strerror(error)), std::string::npos);
  }

  test::Workshop shop_;
  test::Snapshot wanted_;
  test::Snapshot checkpoint_;
};

TEST_F(Faults, OfAFullDiskLeaveNothingHalfWritten) {
  EXPECT_GT(fail_each(ENOSPC), 40);
  EXPECT_TRUE(snapshot(shop_.checkpoint) == checkpoint_);
}

TEST_F(Faults, OfADiskThatStaysFullLeaveNothingHalfWritten) {
  EXPECT_GT(fail_each(ENOSPC, "write", true), 20);
}

TEST_F(Faults, OfABrokenDiskLeaveNothingHalfWritten) {
  EXPECT_GT(fail_each(EIO, "sync"), 6);
  EXPECT_GT(fail_each(EIO, "close"), 4);
  EXPECT_GT(fail_each(EIO, "rename"), 4);
}

TEST_F(Faults, OfPermissionsAndLimitsAreNamed) {
  for (const int error : {EACCES, EROFS, EMFILE}) EXPECT_GT(fail_each(error, "open"), 4);
  EXPECT_EQ(fail_each(EROFS, "mkdir"), 2);
}

// Runs `body` where a file system of 4 MiB is mounted on `folder`; false where this machine allows
// no mount, not even in a namespace of its own.
bool on_small_disk(const fs::path& folder, const std::function<bool()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    constexpr int kNoMount = 77;
    if (::unshare(CLONE_NEWNS) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
      ::_exit(kNoMount);
    ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
    if (::mount("tmpfs", folder.c_str(), "tmpfs", 0, "size=4m") != 0) ::_exit(kNoMount);
    ::_exit(body() ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) return false;
  EXPECT_EQ(WEXITSTATUS(status), 0);
  return true;
}

TEST_F(Faults, OfADiskThatIsTooSmallStopBeforeTheFirstByte) {  // D9
  const test::TinyShape shape = {.layers = 1, .width = 256, .experts = 12, .expert_width = 256};
  test::tiny_checkpoint(shape).write(shop_.folder / "large");
  const fs::path disk = shop_.folder / "disk";
  fs::create_directory(disk);
  const bool mounted = on_small_disk(disk, [&] {
    const std::string outcome = test::shatter_outcome(shop_.folder / "large", disk / "model");
    std::fprintf(stderr, "%s\n", outcome.c_str());
    return outcome.starts_with("no_space: " + (disk / "model").string() + ": needs 4.") &&
           outcome.ends_with(" MiB on the disk, 4.00 MiB are free") && fs::is_empty(disk);
  });
  if (!mounted) std::fprintf(stderr, "no file system can be mounted here\n");
}

// The check before the start sees room that another program then takes.
TEST_F(Faults, OfADiskThatFillsUpLeaveRoomForTheNextTry) {  // D9
  const test::TinyShape shape = {.layers = 2, .width = 128, .experts = 12, .expert_width = 128};
  test::tiny_checkpoint(shape).write(shop_.folder / "large");
  const fs::path disk = shop_.folder / "disk";
  fs::create_directory(disk);
  const bool mounted = on_small_disk(disk, [&] {
    ShatterOptions options;
    options.progress = [&](const ShatterProgress& progress) {
      if (progress.bytes_done > progress.bytes_total / 2 && !fs::exists(disk / "hog"))
        test::write_file(disk / "hog", std::string(4 * kMiB, 'x'));
    };
    const std::string outcome =
        test::shatter_outcome(shop_.folder / "large", disk / "model", options);
    std::fprintf(stderr, "%s\n", outcome.c_str());
    if (!outcome.starts_with("no_space: ") || outcome.find("did not fit") == std::string::npos)
      return false;
    fs::remove(disk / "hog");
    return test::shatter_outcome(shop_.folder / "large", disk / "model") == "done" &&
           test::problems_in(disk / "model").empty();
  });
  if (!mounted) std::fprintf(stderr, "no file system can be mounted here\n");
}

}  // namespace
}  // namespace smoe
