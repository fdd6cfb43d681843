// What people see: progress bars, tables, token lists, exit statuses.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "base/units.h"
#include "cli/exit_status.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "cli/table.h"
#include "cli/text_editor.h"
#include "cli/token_list.h"
#include "support/temp_dir.h"

namespace smoe::cli {
namespace {

TEST(Progress, ShowsWorkBarBytesSpeedAndTimeLeft) {
  const ProgressView view{"layer 3 of 48", 3 * kGiB, 12 * kGiB, static_cast<double>(kGiB)};
  EXPECT_EQ(render_progress(view, 120),
            "layer 3 of 48  [======>                 ]   25 %  3.00 GiB of 12.00 GiB  1.00 GiB/s  "
            "9 s left");
}

TEST(Progress, FitsIntoAnyWidth) {
  const ProgressView view{"layer 3 of 48", 3 * kGiB, 12 * kGiB, static_cast<double>(kGiB)};
  for (size_t columns = 6; columns < 130; ++columns) {
    const std::string line = render_progress(view, columns);
    EXPECT_LE(line.size(), columns);
    EXPECT_NE(line.find("25 %"), std::string::npos) << columns;
  }
}

TEST(Progress, HasNoSpeedBeforeItIsKnownAndNoDivisionByNothing) {
  EXPECT_EQ(render_progress({"scout", 0, 0, 0}, 80),
            "scout  [>                       ]    0 %  "
            "0 B of 0 B");
  EXPECT_EQ(render_progress({"scout", 7, 5, 0}, 60),
            "scout  [========================]  100 %  "
            "5 B of 5 B");
}

TEST(Progress, WritesDurationsForPeople) {
  EXPECT_EQ(format_duration(0.2), "1 s");
  EXPECT_EQ(format_duration(59.5), "1 min 0 s");
  EXPECT_EQ(format_duration(3700), "1 h 1 min");
}

TEST(Table, AlignsTextLeftAndNumbersRight) {
  EXPECT_EQ(render_table({{"memory", true}, {"note"}}, {{"4 GiB", "är"}, {"16 GiB", "all of it"}}),
            "memory  note\n"
            "------  ---------\n"
            " 4 GiB  är\n"
            "16 GiB  all of it\n");
}

TEST(TokenList, ReadsItsOwnJsonAndPlainNumbers) {
  const std::vector<TokenId> ids{TokenId{1}, TokenId{22}, TokenId{0}};
  EXPECT_EQ(token_list_json(ids), R"({"ids":[1,22,0]})");
  for (const char* text : {R"({"ids":[1,22,0]})", "[1, 22, 0]\n", "1 22\n0\n", " 1,22,0 "}) {
    const auto parsed = parse_token_list(text);
    ASSERT_TRUE(parsed) << text << ": " << parsed.error().message;
    EXPECT_EQ(*parsed, ids) << text;
  }
  EXPECT_TRUE(parse_token_list("")->empty());
}

TEST(TokenList, RefusesWhatIsNoId) {
  for (const char* text : {"1 x", "-1", "1.5", "4294967296", "[1,-2]", "[1,\"2\"]", "{\"id\":[1]}",
                           "[1", "{\"ids\":7}"})
    EXPECT_FALSE(parse_token_list(text)) << text;
}

TEST(ExitStatus, IsOneForFailuresTwoForUsage) {
  EXPECT_EQ(exit_status_of(Code::kUsage), ExitStatus::kUsage);
  EXPECT_EQ(exit_status_of(Code::kCancelled), ExitStatus::kInterrupted);
  for (const Code code : {Code::kNotFound, Code::kIo, Code::kCorrupt, Code::kUnsupported,
                          Code::kNoSpace, Code::kNoMemory, Code::kNumeric, Code::kContextFull})
    EXPECT_EQ(exit_status_of(code), ExitStatus::kFailed) << name_of(code);
}

// A death test forks, so that the signals reach a process of their own.
class SignalsDeathTest : public testing::Test {
 protected:
  static void wait_until(const std::function<bool()>& done) {
    for (int i = 0; i < 5000 && !done(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
};

TEST_F(SignalsDeathTest, TheFirstSetsTheFlagAndCallsBack) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        Signals signals;
        std::atomic<bool> called{false};
        signals.on_cancel([&] { called = true; });
        ::kill(::getpid(), SIGINT);
        wait_until([&] { return called.load(); });
        const bool right = called && signals.cancelled() && signals.received() == SIGINT;
        signals.on_cancel(nullptr);
        _exit(right ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(SignalsDeathTest, TheSecondEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        Signals signals;
        ::kill(::getpid(), SIGINT);
        wait_until([&] { return signals.cancelled().load(); });
        ::kill(::getpid(), SIGINT);
        wait_until([] { return false; });
      },
      testing::ExitedWithCode(130), "");
}

TEST_F(SignalsDeathTest, EndsAtOnceWhereNothingIsHalfDone) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        Signals signals;
        const Signals::AtOnce at_once(signals);
        ::kill(::getpid(), SIGTERM);
        wait_until([] { return false; });
      },
      testing::ExitedWithCode(143), "");
}

TEST_F(SignalsDeathTest, ACallbackThatComesTooLateIsCalledAtOnce) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        Signals signals;
        ::kill(::getpid(), SIGTERM);
        wait_until([&] { return signals.cancelled().load(); });
        bool called = false;
        signals.on_cancel([&] { called = true; });
        _exit(called && signals.received() == SIGTERM ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST(Signals, GoesAwayQuietly) {
  const Signals signals;
  EXPECT_FALSE(signals.cancelled());
}

TEST(TextEditor, IsACommandWithArgumentsOrAProgramInAFolderWithSpaces) {
  const test::TempDir folder;
  std::filesystem::create_directory(folder / "my editor");
  const std::string program = (folder / "my editor/ed").string();
  std::ofstream(program) << "#!/bin/sh\nshift $(($# - 1))\necho more >>\"$1\"\n";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  EXPECT_EQ(*edit_text(program, "text\n"), "text\nmore");
  EXPECT_EQ(*edit_text("'" + program + "' --wait -x ", "text\n"), "text\nmore");
  for (const char* none : {"", "  ", "\n"})
    EXPECT_EQ(edit_text(none, "text").error().code, Code::kUsage);
  EXPECT_EQ(edit_text("false", "text").error().code, Code::kIo);
}

}  // namespace
}  // namespace smoe::cli
