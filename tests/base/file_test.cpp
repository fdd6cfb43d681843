#include "base/file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <vector>

#include "base/units.h"
#include "support/temp_dir.h"

namespace smoe {
namespace {

namespace fs = std::filesystem;
using test::TempDir;
using testing::HasSubstr;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

std::string content(const fs::path& path) { return read_text_file(path, kMiB).value_or("(none)"); }

size_t files_in(const fs::path& folder) {
  return static_cast<size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

// Every write beyond `bytes` of a file fails, as on a full disk (the signal would kill us).
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit = {bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int);
};

TEST(File, NamesThePathAndTheReasonWhenItCannotOpen) {
  const TempDir dir;
  const auto file = File::open(dir / "absent");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, Code::kNotFound);
  EXPECT_THAT(file.error().message, HasSubstr("absent"));
  EXPECT_THAT(file.error().message, HasSubstr("No such file"));
}

TEST(File, ReadsWhatWasWrittenAtAnyOffset) {
  const TempDir dir;
  auto file = File::create(dir / "f");
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->write_at(100, bytes_of("hello")));
  ASSERT_TRUE(file->sync());
  EXPECT_EQ(file->size(), 105U);
  std::vector<std::byte> got(5);
  ASSERT_TRUE(file->read_at(100, got));
  EXPECT_EQ(std::memcmp(got.data(), "hello", 5), 0);
  ASSERT_TRUE(file->read_at(0, got));
  EXPECT_EQ(got, std::vector<std::byte>(5));
  EXPECT_TRUE(file->close());
}

TEST(File, SaysWhereAFileEndsEarly) {
  const TempDir dir;
  ASSERT_TRUE(replace_file(dir / "f", "0123456789"));
  const auto file = File::open(dir / "f");
  std::vector<std::byte> got(8);
  const Status status = file->read_at(6, got);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kCorrupt);
  EXPECT_THAT(status.error().message, HasSubstr("ends at byte 10, 4 more were expected"));
  EXPECT_EQ(file->read_some(6, got), 4U);
  EXPECT_EQ(file->read_some(10, got), 0U);
}

TEST(File, ReportsAFullDiskWithTheBytesThatDidNotFit) {
  const TempDir dir;
  const FileSizeLimit limit(4096);
  auto file = File::create(dir / "f");
  const Status status = file->write_at(0, bytes_of(std::string(10000, 'x')));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kNoSpace);
  EXPECT_THAT(status.error().message, HasSubstr("offset 4096 did not fit"));
}

// D12: EMFILE.
TEST(File, SaysWhichLimitToRaiseWhenThereAreNoDescriptors) {
  const TempDir dir;
  ASSERT_TRUE(replace_file(dir / "f", "x"));
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  const rlimit none = {0, before.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &none);
  const auto file = File::open(dir / "f");
  ::setrlimit(RLIMIT_NOFILE, &before);
  ASSERT_FALSE(file);
  EXPECT_THAT(file.error().message, HasSubstr("ulimit -n"));
}

TEST(File, MovesItsDescriptorAndClosesItOnce) {
  const TempDir dir;
  auto file = File::create(dir / "f");
  const int descriptor = file->descriptor();
  {
    File moved = std::move(*file);
    EXPECT_EQ(moved.descriptor(), descriptor);
    EXPECT_EQ(file->descriptor(), -1);
  }
  EXPECT_EQ(::fcntl(descriptor, F_GETFD), -1);
}

TEST(ReplaceFile, LeavesTheNewContentAndNothingElse) {
  const TempDir dir;
  ASSERT_TRUE(replace_file(dir / "f", "old"));
  ASSERT_TRUE(replace_file(dir / "f", "new"));
  EXPECT_EQ(content(dir / "f"), "new");
  EXPECT_EQ(files_in(dir.path()), 1U);
}

// traps 42, D9: a writer that fails at any point leaves the old file and no partial one.
TEST(ReplaceFile, KeepsTheOldContentWhenFillingFails) {
  const TempDir dir;
  ASSERT_TRUE(replace_file(dir / "f", "old"));
  const Status status = replace_file(dir / "f", [](File& file) -> Status {
    SMOE_DO(file.write_at(0, bytes_of("half")));
    return Error{Code::kIo, "broken"};
  });
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "broken");
  EXPECT_EQ(content(dir / "f"), "old");
  EXPECT_EQ(files_in(dir.path()), 1U);
}

TEST(ReplaceFile, KeepsTheOldContentWhenTheDiskIsFull) {
  const TempDir dir;
  ASSERT_TRUE(replace_file(dir / "f", "old"));
  const FileSizeLimit limit(4096);
  const Status status = replace_file(dir / "f", std::string(10000, 'x'));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kNoSpace);
  EXPECT_EQ(content(dir / "f"), "old");
  EXPECT_EQ(files_in(dir.path()), 1U);
}

TEST(ReplaceFile, NeverReplacesAFolder) {
  const TempDir dir;
  fs::create_directories(dir / "f" /
                         fs::path("inside"));  // a folder that is not empty stands there
  const Status status = replace_file(dir / "f", "new");
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("not a regular file"));
  EXPECT_EQ(files_in(dir.path()), 1U);
}

TEST(ReplaceFile, ReadersSeeTheOldFileUntilTheNewOneIsWhole) {
  const TempDir dir;
  ASSERT_TRUE(replace_file(dir / "f", "old"));
  ASSERT_TRUE(replace_file(dir / "f", [&](File& file) -> Status {
    SMOE_DO(file.write_at(0, bytes_of("new")));
    EXPECT_EQ(content(dir / "f"), "old");
    EXPECT_EQ(content(dir / "f.partial"), "new");
    return {};
  }));
  EXPECT_EQ(content(dir / "f"), "new");
}

TEST(ReadTextFile, RefusesWhatIsTooLargeOrNoFile) {
  const TempDir dir;
  ASSERT_TRUE(replace_file(dir / "f", "12345"));
  EXPECT_TRUE(read_text_file(dir / "f", 5));
  EXPECT_EQ(read_text_file(dir / "f", 4).error().code, Code::kCorrupt);
  EXPECT_THAT(read_text_file(dir.path(), 10).error().message, HasSubstr("is a directory"));
}

TEST(ReadStream, ReadsAPipeToItsEnd) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_EQ(::write(ends[1], "story", 5), 5);
  ::close(ends[1]);
  EXPECT_EQ(read_stream(ends[0], "standard input", 100), "story");
  ::close(ends[0]);
}

TEST(MappedFile, ShowsTheBytesAlsoAfterTheyWereDropped) {
  const TempDir dir;
  std::string text;
  for (int i = 0; i < 20000; ++i) text += static_cast<char>(i * 7);
  ASSERT_TRUE(replace_file(dir / "f", text));
  auto mapped = MappedFile::open(dir / "f");
  ASSERT_TRUE(mapped);
  const MappedFile moved = std::move(*mapped);
  ASSERT_EQ(moved.bytes().size(), text.size());
  moved.drop(0, text.size());
  moved.drop(4097, 10);
  EXPECT_EQ(std::memcmp(moved.bytes().data(), text.data(), text.size()), 0);
}

TEST(MappedFile, TakesEmptyFilesAndRefusesFolders) {
  const TempDir dir;
  ASSERT_TRUE(replace_file(dir / "f", ""));
  EXPECT_TRUE(MappedFile::open(dir / "f")->bytes().empty());
  EXPECT_FALSE(MappedFile::open(dir.path()));
}

TEST(FreeSpace, AnswersForAPathThatDoesNotExistYet) {
  const TempDir dir;
  const auto space = free_space(dir / "a" / "b" / "c");
  ASSERT_TRUE(space);
  EXPECT_GT(*space, 0U);
}

// D13: O_DIRECT is refused on some file systems; the caller falls back on this code.
TEST(OpenDirect, WorksOrSaysThatTheFileSystemCannot) {
  const TempDir dir;
  ASSERT_TRUE(replace_file(dir / "f", std::string(kPageBytes, 'x')));
  const auto file = File::open_direct(dir / "f");
  if (!file) {
    EXPECT_EQ(file.error().code, Code::kUnsupported);
  }
  const auto on_proc = File::open_direct("/proc/self/status");
  ASSERT_FALSE(on_proc);
  EXPECT_EQ(on_proc.error().code, Code::kUnsupported);
}

}  // namespace
}  // namespace smoe
