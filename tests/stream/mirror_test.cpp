// A second copy of the vault: read where the first one fails, and never something else.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>

#include "base/aligned.h"
#include "base/units.h"
#include "stream/catalog.h"
#include "stream/vault_files.h"
#include "stream/vault_fixture.h"

namespace smoe {
namespace {

namespace fs = std::filesystem;
using test::experts;
using test::key;
using test::scripted;
using test::take_all;
using test::TestVault;
using testing::HasSubstr;
using Pick = Streamer::Pick;

SMOE_FOR_EVERY_ENGINE(Mirror);

Error mirror_broken() { return {Code::kIo, "cannot read: Input/output error"}; }

// Two layers in two folders; files 0 and 1 are the first copy's, 2 and 3 the mirror's.
struct TwoCopies {
  TestVault first;
  TestVault second;
  TwoCopies() {
    first.add_layer(0, 8).add_layer(1, 8);
    second.add_layer(0, 8).add_layer(1, 8);
  }
  StreamerOptions mirrored(StreamerOptions options) const {
    options.mirror.assign(second.files().begin(), second.files().end());
    return options;
  }
};

std::vector<ExpertKey> all_experts() {
  std::vector<ExpertKey> keys = experts(0, 0, 8);
  for (const ExpertKey one : experts(1, 0, 8)) keys.push_back(one);
  return keys;
}

TEST_P(Mirror, ServesWhatTheFirstCopyCannotRead) {
  const TwoCopies copies;
  std::atomic<int> from_mirror{0};
  const auto streamer =
      scripted(copies.first, copies.mirrored(with_slots({6})),
               [&](const ReadRequest& request, RecordFiles& real) -> Result<size_t> {
                 if (request.file < 2) return mirror_broken();
                 ++from_mirror;
                 return real.read(request);
               });
  take_all(*streamer, copies.first, all_experts());
  EXPECT_EQ(from_mirror, 16);
  EXPECT_EQ(streamer->stats().rescues, 16U);
  EXPECT_EQ(streamer->stats().reads, 16U);
}

TEST_P(Mirror, ServesWhatIsDamagedInTheFirstCopy) {
  const TwoCopies copies;
  const auto streamer = scripted(copies.first, copies.mirrored(with_slots({6})),
                                 [&](const ReadRequest& request, RecordFiles& real) {
                                   auto got = real.read(request);
                                   if (request.file < 2) request.into[77] ^= std::byte{1};
                                   return got;
                                 });
  take_all(*streamer, copies.first, all_experts());
  EXPECT_EQ(streamer->stats().rescues, 16U);
}

// A checksum that was right once is not looked at again, but only in the copy that was right.
TEST_P(Mirror, VouchesForNoRecordOfTheFirstCopy) {
  const TwoCopies copies;
  const auto streamer = scripted(copies.first, copies.mirrored(with_slots({6})),
                                 [&](const ReadRequest& request, RecordFiles& real) {
                                   auto got = real.read(request);
                                   if (request.file < 2) request.into[77] ^= std::byte{1};
                                   return got;
                                 });
  take_all(*streamer, copies.first, all_experts());
  take_all(*streamer, copies.first, all_experts());
  EXPECT_EQ(streamer->stats().rescues, streamer->stats().reads);
}

TEST_P(Mirror, IsLeftAgainWhenItIsTheOneThatFails) {
  const TwoCopies copies;
  std::atomic<int> calls{0};
  const auto streamer =
      scripted(copies.first, copies.mirrored(with_slots({4})),
               [&](const ReadRequest& request, RecordFiles& real) -> Result<size_t> {
                 if (calls++ == 0 || request.file >= 2) return mirror_broken();
                 return real.read(request);
               });
  take_all(*streamer, copies.first, experts(0, 3, 4));
  EXPECT_EQ(calls, 3);
}

TEST_P(Mirror, FailsTheRequestWhenBothCopiesAreDamaged) {
  const TwoCopies copies;
  std::atomic<int> calls{0};
  const auto streamer = scripted(copies.first, copies.mirrored(with_slots({4})),
                                 [&](const ReadRequest& request, RecordFiles& real) {
                                   auto got = real.read(request);
                                   ++calls;
                                   request.into[0] ^= std::byte{1};
                                   return got;
                                 });
  streamer->demand(experts(1, 2, 3));
  const auto lease = streamer->next_ready(Pick::kAny);
  ASSERT_FALSE(lease);
  EXPECT_EQ(lease.error().code, Code::kCorrupt);
  EXPECT_THAT(lease.error().message, HasSubstr("layer 1, expert 2: the checksum is "));
  EXPECT_EQ(calls, 3) << "one copy, the other, and the first once more";
}

TEST_P(Mirror, IsNotReadWhileAllIsWell) {
  const TwoCopies copies;
  std::atomic<bool> touched{false};
  const auto streamer = scripted(copies.first, copies.mirrored(with_slots({6})),
                                 [&](const ReadRequest& request, RecordFiles& real) {
                                   if (request.file >= 2) touched = true;
                                   return real.read(request);
                                 });
  take_all(*streamer, copies.first, all_experts());
  EXPECT_FALSE(touched) << "it lies on the same drive";
}

TEST(MirrorFiles, ThatAreNotTheSameAreRefused) {
  const TwoCopies copies;
  TestVault other;
  other.add_layer(0, 8, 64).add_layer(1, 8);
  const auto different = Catalog::of(copies.first.files(), other.files());
  ASSERT_FALSE(different);
  EXPECT_THAT(different.error().message, HasSubstr("is not the same file as"));
  const auto missing = Catalog::of(copies.first.files(), copies.second.files().first(1));
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("the mirror has no layer 1"));
}

// D5: a drive that went away and came back is another file under the same name. What the process
// holds open answers with errors for ever.
class Replug : public testing::Test {
 protected:
  void SetUp() override {
    vault_.add_layer(0, 4);
    path_ = vault_.files()[0].path();
    auto files = VaultFiles::open({&path_, 1}, true);
    ASSERT_TRUE(files);
    files_ = std::move(*files);
  }
  // Its first bytes belong to no memory, so reads there fail with EIO.
  void unplug() {
    const int gone = ::open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    ASSERT_GE(::dup3(gone, files_->descriptor(0), O_CLOEXEC), 0);
    ::close(gone);
  }
  Result<size_t> read(uint32_t expert) {
    ReadRequest request;
    request.offset = vault_.files()[0].info().offset_of(expert);
    request.into = memory_.bytes();
    return files_->read(request);
  }

  TestVault vault_;
  fs::path path_;
  std::unique_ptr<VaultFiles> files_;
  AlignedBuffer memory_ = *AlignedBuffer::allocate(16 * kKiB);
};

TEST_F(Replug, IsNoticedAtTheNextRead) {
  unplug();
  const auto got = read(2);
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_TRUE(std::ranges::equal(memory_.bytes(), vault_.record(key(0, 2))));
  EXPECT_EQ(files_->reopened(), 1U);
}

TEST_F(Replug, WithNothingThereIsAnErrorUntilItIs) {
  fs::rename(path_, path_.string() + ".away");
  unplug();
  ASSERT_FALSE(read(0));
  ASSERT_FALSE(read(0));
  fs::rename(path_.string() + ".away", path_);
  EXPECT_TRUE(read(0));
}

TEST_F(Replug, OfAnotherFileUnderItsNameIsRefused) {
  std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(100);
  file.put('?');
  file.close();
  unplug();
  EXPECT_FALSE(read(0)) << "its first page differs";
  fs::resize_file(path_, fs::file_size(path_) - 1);
  EXPECT_FALSE(read(0));
  EXPECT_EQ(files_->reopened(), 0U);
}

}  // namespace
}  // namespace smoe
