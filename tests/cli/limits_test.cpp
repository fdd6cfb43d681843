// Limits that the system sets: memory and processor quotas of a cgroup, ulimits. M1, M2, M4; traps
// 37, 38, 39.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/units.h"
#include "cli/smoe.h"
#include "support/temp_dir.h"

namespace smoe::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::ProcessResult;
using testing::HasSubstr;

// A cgroup of our own, v1 or v2, where the machine permits one.
class Group {
 public:
  // `file` and `value`: the limit in the words of v1 and v2.
  static std::optional<Group> make(const std::string& controller, const std::string& file_v1,
                                   const std::string& file_v2, const std::string& value_v1,
                                   const std::string& value_v2) {
    const fs::path root = "/sys/fs/cgroup";
    const std::string name = "smoe-test-" + std::to_string(::getpid());
    const bool v1 = fs::exists(root / controller / "cgroup.procs");
    Group group((v1 ? root / controller : root) / name);
    std::error_code error;
    fs::create_directory(group.path_, error);
    if (error || !write(group.path_ / (v1 ? file_v1 : file_v2), v1 ? value_v1 : value_v2)) {
      std::printf(
          "  no cgroup with the %s controller here: only the program's own figures are checked\n",
          controller.c_str());
      return std::nullopt;
    }
    return group;
  }
  Group(Group&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  Group& operator=(Group&&) = delete;
  ~Group() {
    for (int i = 0; i < 50 && !path_.empty() && ::rmdir(path_.c_str()) != 0; ++i) ::usleep(20000);
  }
  fs::path procs() const { return path_ / "cgroup.procs"; }

 private:
  explicit Group(fs::path path) : path_(std::move(path)) {}
  static bool write(const fs::path& path, const std::string& value) {
    std::ofstream file(path);
    file << value;
    return static_cast<bool>(file.flush());
  }
  fs::path path_;
};

class Limits : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(smoe({"shatter", tales(), model()}).status, 0); }
  std::string model() const { return dir_ / "tales"; }

  // Runs smoe in a shell after `before`.
  ProcessResult limited(const std::string& before, const std::string& words) const {
    const std::string line = before + "exec " SMOE_BINARY " " + words;
    return test::run_process({"/bin/sh", "-c", line}, {});
  }
  static std::string enter(const std::optional<Group>& group) {
    return group ? "echo $$ > " + group->procs().string() + " && " : "";
  }
  // As limited(), with endless input from `source`.
  ProcessResult fed(const std::string& source, const std::string& words) const {
    const std::string line = "ulimit -v 1000000; " + source + " | " SMOE_BINARY " " + words;
    return test::run_process({"/bin/sh", "-c", line}, {});
  }
  std::string run_words() const {
    return "run " + model() + " 'Once upon a time' --max-tokens 40 --temperature 0 --json --quiet ";
  }

  test::TempDir dir_;
};

TEST_F(Limits, MemoryUsedStaysWithinTheBudget) {
  for (const char* budget : {"44M", "50M", "80M"}) {
    const ProcessResult result = limited("", run_words() + "--memory " + budget);
    ASSERT_EQ(result.status, 0) << result.err;
    const json memory = json::parse(result.out)["memory"];
    EXPECT_LE(memory["planned_bytes"].get<uint64_t>(), *parse_bytes(budget));
    EXPECT_LE(memory["peak_bytes"].get<uint64_t>(), *parse_bytes(budget)) << "--memory " << budget;
  }
}

TEST_F(Limits, AMemoryGroupSetsTheDefaultBudgetAndIsNeverExceeded) {
  const auto group = Group::make("memory", "memory.limit_in_bytes", "memory.max", "96M", "96M");
  // The page cache of a large file fills the group first: it must count as available.
  const std::string fill = group ? "cat " + model() + "/vault/* " + tales().string() +
                                       "/model.safetensors > /dev/null && "
                                 : "";
  const ProcessResult result = limited(enter(group) + fill, run_words());
  ASSERT_EQ(result.status, 0) << result.err;
  const json memory = json::parse(result.out)["memory"];
  EXPECT_LE(memory["peak_bytes"].get<uint64_t>(), memory["budget_bytes"].get<uint64_t>());
  if (group) {
    EXPECT_LE(memory["budget_bytes"].get<uint64_t>(), 96 * kMiB);
    EXPECT_GE(memory["budget_bytes"].get<uint64_t>(), 70 * kMiB);
  }
}

TEST_F(Limits, AMemoryGroupThatIsTooSmallIsRefusedWithoutAKill) {
  const auto group = Group::make("memory", "memory.limit_in_bytes", "memory.max", "40M", "40M");
  if (!group) return;
  const ProcessResult result = limited(enter(group), run_words());
  EXPECT_EQ(result.status, 1) << result.err;
  EXPECT_THAT(result.err, HasSubstr("available memory"));
  EXPECT_THAT(result.err, HasSubstr("needs at least"));
}

TEST_F(Limits, AProcessorQuotaSetsTheNumberOfThreads) {
  const auto group = Group::make("cpu", "cpu.cfs_quota_us", "cpu.max", "100000", "100000 100000");
  const ProcessResult result =
      limited(enter(group), "run " + model() + " 'Once' --max-tokens 4 --log-level debug");
  ASSERT_EQ(result.status, 0) << result.err;
  if (group) {
    EXPECT_THAT(result.err, HasSubstr("1 thread"));
  }
}

TEST_F(Limits, FewDescriptorsNoLockedMemoryAndASmallStackAreEnough) {
  for (const char* limit : {"ulimit -n 64; ", "ulimit -l 0; ", "ulimit -s 512; "}) {
    const ProcessResult result = limited(limit, run_words());
    EXPECT_EQ(result.status, 0) << limit << result.err;
  }
}

TEST_F(Limits, TooLittleAddressSpaceAndTooFewDescriptorsAreNamed) {
  const ProcessResult space = limited("ulimit -v 45000; ", run_words());
  EXPECT_EQ(space.status, 1);
  EXPECT_THAT(space.err, HasSubstr("ulimit -v"));
  const ProcessResult files = limited("ulimit -n 8; ", run_words());
  EXPECT_EQ(files.status, 1);
  EXPECT_THAT(files.err, HasSubstr("ulimit -n"));
}

TEST_F(Limits, TextThatCannotFitIsRefusedWhileItIsRead) {
  const ProcessResult prompt = fed("yes 'so long'", "run " + model() + " --ctx 64 --quiet");
  EXPECT_EQ(prompt.status, 1);
  EXPECT_THAT(prompt.err, HasSubstr("do not fit into a context of 64 tokens"));
  EXPECT_THAT(prompt.err, HasSubstr("--ctx makes it longer"));
  const ProcessResult chat = fed("yes | tr -d '\\n'", "chat " + model() + " --ctx 64 --quiet");
  EXPECT_EQ(chat.status, 1);
  EXPECT_THAT(chat.err, HasSubstr("a message: more than"));
  const ProcessResult text = fed("yes 'so long'", "tokenize " + model());
  EXPECT_EQ(text.status, 2);
  EXPECT_THAT(text.err, HasSubstr("stdin: more than 32.00 MiB at once"));
}

}  // namespace
}  // namespace smoe::cli
