#include "base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/json.h"
#include "support/temp_dir.h"

namespace smoe {
namespace {

using test::TempDir;
using testing::MatchesRegex;

std::string logged(const log::Options& options, const std::function<void()>& work) {
  testing::internal::CaptureStderr();
  EXPECT_TRUE(log::set_up(options));
  work();
  return testing::internal::GetCapturedStderr();
}

TEST(Log, IsOneShortLineForPeople) {
  EXPECT_EQ(logged({}, [] { log::info("vault {} of {}", 1, 2); }), "smoe: vault 1 of 2\n");
  EXPECT_EQ(logged({}, [] { log::warn("slow disk"); }), "smoe: warning: slow disk\n");
  EXPECT_EQ(logged({}, [] { log::error("no disk"); }), "smoe: error: no disk\n");
}

TEST(Log, LeavesOutWhatIsBelowItsLevel) {
  EXPECT_EQ(logged({}, [] { log::debug("detail"); }), "");
  EXPECT_EQ(logged({.level = log::Level::kWarn}, [] { log::info("news"); }), "");
  EXPECT_EQ(logged({.level = log::Level::kOff}, [] { log::error("bad"); }), "");
  EXPECT_EQ(logged({.level = log::Level::kDebug}, [] { log::debug("d"); }), "smoe: debug: d\n");
}

TEST(Log, IsOneJsonObjectALineWhenAsked) {
  const std::string line = logged({.json = true}, [] { log::warn("a \"b\"\n{}", "\xff"); });
  const auto json = Json::parse(line);
  ASSERT_TRUE(json) << line;
  EXPECT_EQ(json->find("level")->as_string(), "warning");
  EXPECT_EQ(json->find("message")->as_string(), "a \"b\"\n\ufffd");
  EXPECT_THAT(std::string(*json->find("time")->as_string()),
              MatchesRegex("....-..-..T..:..:..\\.......:.."));
}

TEST(Log, IsAlsoAppendedToAFileWithTheTime) {
  const TempDir dir;
  const log::Options options = {.file = (dir / "log").string()};
  logged(options, [] { log::info("one"); });
  logged(options, [] { log::warn("two"); });
  const auto text = read_text_file(dir / "log", 10000);
  ASSERT_TRUE(text);
  EXPECT_THAT(*text, MatchesRegex("....-..-..T..:..:[^ ]* one\n....-..[^ ]* warning: two\n"));
}

TEST(Log, SaysWhyItsFileCannotBeOpened) {
  const Status status = log::set_up({.file = "/proc/none/log"});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kIo);
  EXPECT_THAT(status.error().message, testing::HasSubstr("/proc/none/log: cannot open"));
}

}  // namespace
}  // namespace smoe
