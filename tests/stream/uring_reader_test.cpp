// io_uring where it works, something else where it does not. D14.
#include "stream/uring_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <filesystem>

#include "stream/vault_fixture.h"

namespace smoe {
namespace {

using test::experts;
using test::take_all;
using test::TestVault;
using testing::HasSubstr;

StreamerOptions with_engine(IoEngine io) {
  StreamerOptions options;
  options.slots = {3};
  options.io = io;
  return options;
}

bool here() { return test::engines().size() == 2; }

// Makes a system call fail in this process, as a container's filter does.
void forbid(uint32_t call, uint32_t reason) {
  std::array<sock_filter, 4> program = {
      sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | reason),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog filter{program.size(), program.data()};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
    ::_exit(9);
}

void lock_no_memory() {
  const rlimit none{0, 0};
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> data{};
  if (::setrlimit(RLIMIT_MEMLOCK, &none) != 0 || ::syscall(SYS_capset, &header, data.data()) != 0)
    ::_exit(9);
}

// Ends the process with 0 when everything is read, by an engine whose description has `word`.
[[noreturn]] void read_all(const TestVault& vault, const std::string& word, bool wanted) {
  const auto streamer = Streamer::open(vault.files(), with_engine(IoEngine::kAuto));
  if (!streamer) ::_exit(1);
  const bool found = (*streamer)->description().find(word) != std::string::npos;
  if (found != wanted) ::_exit(2);
  ::_exit(take_all(**streamer, vault, experts(0, 0, 12)).size() == 12 ? 0 : 3);
}

class Forbidden : public testing::TestWithParam<std::pair<long, int>> {};

TEST_P(Forbidden, IoUringIsReplacedByThreads) {
  TestVault vault;
  vault.add_layer(0, 12);
  const auto [call, reason] = GetParam();
  EXPECT_EXIT(
      {
        forbid(static_cast<uint32_t>(call), static_cast<uint32_t>(reason));
        read_all(vault, "pread, ", true);
      },
      testing::ExitedWithCode(0), "io_uring: .* failed: ");
}

INSTANTIATE_TEST_SUITE_P(Calls, Forbidden,
                         testing::Values(std::pair(SYS_io_uring_setup, ENOSYS),
                                         std::pair(SYS_io_uring_setup, EPERM),
                                         std::pair(SYS_io_uring_enter, EPERM),
                                         std::pair(SYS_io_uring_register, EACCES)));

TEST(Uring, ThatWasAskedForAndIsForbiddenIsAnErrorWithTheRemedy) {
  TestVault vault;
  vault.add_layer(0, 12);
  EXPECT_EXIT(
      {
        forbid(SYS_io_uring_setup, EPERM);
        const auto streamer = Streamer::open(vault.files(), with_engine(IoEngine::kUring));
        if (streamer || streamer.error().code != Code::kUnsupported) ::_exit(1);
        ::dprintf(STDERR_FILENO, "%s", streamer.error().message.c_str());
        ::_exit(0);
      },
      testing::ExitedWithCode(0), "Operation not permitted \\(--io pread works without\\)");
}

TEST(Uring, ReadsIntoPlainMemoryWhenNoneMayBeLocked) {
  TestVault vault;
  vault.add_layer(0, 12);
  EXPECT_EXIT(
      {
        lock_no_memory();
        read_all(vault, "registered", false);
      },
      testing::ExitedWithCode(0), "");
}

TEST(Uring, IsChosenWhereItWorks) {
  TestVault vault;
  vault.add_layer(0, 12);
  const auto streamer = test::opened(vault, with_engine(IoEngine::kAuto));
  EXPECT_THAT(streamer->description(), HasSubstr(here() ? "io_uring, " : "pread, "));
}

TEST(BufferedEngine, ReadsThroughThePageCacheWithThreads) {
  TestVault vault;
  vault.add_layer(0, 12);
  const auto streamer = test::opened(vault, with_engine(IoEngine::kBuffered));
  EXPECT_THAT(streamer->description(), HasSubstr("pread, buffered"));
  take_all(*streamer, vault, experts(0, 0, 12));
}

// Larger than a piece of registered memory, so that some records lie over a seam.
TEST(Uring, ReadsRecordsOnBothSidesOfASeamInRegisteredMemory) {
  TestVault vault;
  vault.add_layer(0, 6, 1024);  // 12 MiB each
  StreamerOptions options = with_engine(here() ? IoEngine::kUring : IoEngine::kPread);
  options.slots = {6};
  const auto streamer = test::opened(vault, options);
  take_all(*streamer, vault, experts(0, 0, 6));
  EXPECT_EQ(streamer->stats().reads, 6U);
}

SMOE_FOR_EVERY_ENGINE(Closing);

TEST_P(Closing, LeavesNoFileOpen) {
  TestVault vault;
  vault.add_layer(0, 12);
  const auto open_files = [] {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return std::distance(begin(all), end(all));
  };
  const auto before = open_files();
  for (int i = 0; i < 10; ++i) {
    const auto streamer = test::opened(vault, with_slots({3}));
    streamer->demand(experts(0, 0, 12));
    if (i % 2 == 0) {
      ASSERT_TRUE(streamer->next_ready(Streamer::Pick::kAny));
    }
  }
  EXPECT_EQ(open_files(), before);
}

}  // namespace
}  // namespace smoe
