// A neighbour in the same memory group takes most of it while smoe computes: the ring gives way,
// and nobody is killed. Needs a memory controller that this process may use. M1.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/units.h"
#include "cli/smoe.h"
#include "support/temp_dir.h"
#include "support/tiny_checkpoint.h"

namespace smoe::cli {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kGroupBytes = 320 * kMiB;
constexpr uint64_t kNeighbourBytes = kGroupBytes * 6 / 10;

std::string text_of(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// The number behind `name` in a file of lines "name number".
uint64_t number_in(const fs::path& path, const std::string& name) {
  std::istringstream lines(text_of(path));
  std::string word;
  while (lines >> word) {
    uint64_t number = 0;
    if (word == name && lines >> number) return number;
  }
  return 0;
}

// A group of its own below the root's, of cgroup v1 or v2.
class MemoryGroup {
 public:
  explicit MemoryGroup(uint64_t bytes) {
    const bool old = fs::exists("/sys/fs/cgroup/memory/memory.limit_in_bytes");
    const fs::path root = old ? "/sys/fs/cgroup/memory" : "/sys/fs/cgroup";
    const fs::path made = root / ("smoe-test-" + std::to_string(::getpid()));
    std::error_code failed;
    if (!fs::create_directory(made, failed)) return;
    folder_ = made;
    const char* limit = old ? "memory.limit_in_bytes" : "memory.max";
    std::ofstream(folder_ / limit) << bytes << std::flush;
    limited_ = text_of(folder_ / limit) == std::to_string(bytes) + "\n";
    kills_ = folder_ / (old ? "memory.oom_control" : "memory.events");
    if (!old) std::ofstream(folder_ / "memory.swap.max") << 0 << std::flush;
  }
  ~MemoryGroup() {
    std::error_code ignored;
    for (int i = 0; i < 100 && !folder_.empty() && !fs::remove(folder_, ignored); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  MemoryGroup(const MemoryGroup&) = delete;
  MemoryGroup& operator=(const MemoryGroup&) = delete;

  bool usable() const { return limited_; }
  fs::path members() const { return folder_ / "cgroup.procs"; }
  uint64_t kills() const { return number_in(kills_, "oom_kill"); }

 private:
  fs::path folder_;
  fs::path kills_;
  bool limited_ = false;
};

// Takes memory of the group little by little, as a program does that works, then keeps it until
// it is killed.
pid_t start_neighbour(const MemoryGroup& group) {
  const std::string members = group.members().string();
  const pid_t child = ::fork();
  if (child != 0) return child;
  std::ofstream(members) << ::getpid() << std::flush;
  constexpr uint64_t kStep = 8 * kMiB;
  for (uint64_t taken = 0; taken < kNeighbourBytes; taken += kStep) {
    void* memory =
        ::mmap(nullptr, kStep, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) ::_exit(1);
    std::memset(memory, 1, kStep);
    ::usleep(100'000);
  }
  for (;;) ::pause();
}

// Eight layers of 32 experts of a megabyte.
void write_model(const fs::path& folder) {
  test::TinyShape shape;
  shape.layers = 8;
  shape.width = 256;
  shape.experts = 32;
  shape.expert_width = 680;
  shape.context = 4096;
  shape.vocabulary = 512;
  const fs::path checkpoint = folder / "checkpoint";
  fs::create_directories(checkpoint);
  test::tiny_checkpoint(shape).write(checkpoint);
  const auto shattered = smoe({"shatter", checkpoint.string(), (folder / "model").string()});
  ASSERT_EQ(shattered.status, 0) << shattered.err;
}

TEST(Neighbour, TakesMostOfTheGroupAndTheRingGivesWay) {
  const MemoryGroup group(kGroupBytes);
  if (!group.usable())
    GTEST_SKIP() << "no memory controller (cgroup v1 or v2) in which this process may make a group";
  const test::TempDir folder;
  ASSERT_NO_FATAL_FAILURE(write_model(folder.path()));

  // The shell joins the group, then becomes smoe.
  const fs::path pid_file = folder / "pid";
  Words command = {"/bin/sh", "-c", "echo $$ > \"$0\" && echo $$ > \"$1\" && shift && exec \"$@\"",
                   group.members().string(), pid_file.string()};
  const Words bench = command_of({"bench", (folder / "model").string(), "--prompt-tokens", "0",
                                  "--gen-tokens", "2000", "--ctx", "2000", "--repeat", "100"});
  command.insert(command.end(), bench.begin(), bench.end());
  test::Process running(command, {});
  const auto resident = [&] {
    const std::string pid = text_of(pid_file).substr(0, text_of(pid_file).find('\n'));
    return number_in("/proc/" + pid + "/status", "RssAnon:") * kKiB;
  };
  const auto waits_for = [&](auto condition) {
    for (int i = 0; i < 600 && !condition(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    return condition();
  };
  // Most of the vault fits in before the neighbour comes.
  ASSERT_TRUE(waits_for([&] { return resident() > kGroupBytes / 2; })) << resident();

  const pid_t neighbour = start_neighbour(group);
  ASSERT_GT(neighbour, 0);
  EXPECT_TRUE(waits_for([&] { return resident() < kGroupBytes - kNeighbourBytes; })) << resident();
  // All of it is taken by then, and for a while.
  std::this_thread::sleep_for(std::chrono::seconds(2));
  EXPECT_EQ(::waitpid(neighbour, nullptr, WNOHANG), 0) << "the neighbour was killed";
  const uint64_t small = resident();
  EXPECT_GT(small, 0U) << "smoe was killed";
  EXPECT_LT(small, kGroupBytes - kNeighbourBytes);
  EXPECT_EQ(group.kills(), 0U);

  ::kill(neighbour, SIGKILL);
  ::waitpid(neighbour, nullptr, 0);
  EXPECT_TRUE(waits_for([&] { return resident() > small + 32 * kMiB; }))
      << "the ring does not grow back: " << resident();
  running.signal(SIGINT);
  const test::ProcessResult result = running.wait();
  EXPECT_EQ(result.status, 130) << result.err;
  EXPECT_EQ(group.kills(), 0U);
}

}  // namespace
}  // namespace smoe::cli
