// O_DIRECT where the file system has it, buffered where not. D13.
#include "stream/vault_files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/aligned.h"
#include "base/units.h"
#include "stream/vault_fixture.h"

namespace smoe {
namespace {

using test::key;
using test::TestVault;

std::unique_ptr<VaultFiles> open_files(const TestVault& vault, bool direct) {
  std::vector<std::filesystem::path> paths;
  for (const VaultFile& file : vault.files()) paths.push_back(file.path());
  auto files = VaultFiles::open(paths, direct);
  EXPECT_TRUE(files);
  return std::move(*files);
}

ReadRequest request_of(const TestVault& vault, uint32_t expert, std::span<std::byte> into) {
  ReadRequest request;
  request.offset = vault.files()[0].info().offset_of(expert);
  request.into = into;
  return request;
}

TEST(VaultFiles, ReadARecordDirectlyIntoAlignedMemory) {
  TestVault vault;
  vault.add_layer(0, 4);
  const auto files = open_files(vault, true);
  const AlignedBuffer buffer = *AlignedBuffer::allocate(16 * kKiB);
  const auto got = files->read(request_of(vault, 2, buffer.bytes()));
  ASSERT_TRUE(got);
  EXPECT_EQ(*got, 16 * kKiB);
  EXPECT_TRUE(std::ranges::equal(buffer.bytes(), vault.record(key(0, 2))));
}

TEST(VaultFiles, ReadThroughThePageCacheWhatDirectReadsRefuse) {
  TestVault vault;
  vault.add_layer(0, 4);
  const auto files = open_files(vault, true);
  const AlignedBuffer buffer = *AlignedBuffer::allocate(32 * kKiB);
  const auto odd = buffer.bytes().subspan(1, 16 * kKiB);  // direct I/O wants aligned memory
  const auto got = files->read(request_of(vault, 1, odd));
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_TRUE(std::ranges::equal(odd, vault.record(key(0, 1))));

  const auto again = files->read(request_of(vault, 2, buffer.bytes().first(16 * kKiB)));
  ASSERT_TRUE(again) << "the file is read like any other from then on";
  EXPECT_TRUE(std::ranges::equal(buffer.bytes().first(16 * kKiB), vault.record(key(0, 2))));
}

TEST(VaultFiles, ReadTheRestOfAShortReadThatBrokeOffInsideABlock) {
  TestVault vault;
  vault.add_layer(0, 4);
  const auto files = open_files(vault, true);
  const AlignedBuffer buffer = *AlignedBuffer::allocate(16 * kKiB);
  ReadRequest request = request_of(vault, 3, buffer.bytes().subspan(1000));
  request.offset += 1000;
  const auto got = files->read(request);
  ASSERT_TRUE(got);
  const auto expected = vault.record(key(0, 3));
  EXPECT_TRUE(std::ranges::equal(request.into, std::span(expected).subspan(1000)));
}

TEST(VaultFiles, GiveNothingBeyondTheEndOfTheFile) {
  TestVault vault;
  vault.add_layer(0, 4);
  for (const bool direct : {true, false}) {
    const auto files = open_files(vault, direct);
    const AlignedBuffer buffer = *AlignedBuffer::allocate(16 * kKiB);
    const auto got = files->read(request_of(vault, 4, buffer.bytes()));
    ASSERT_TRUE(got);
    EXPECT_EQ(*got, 0U);
  }
}

TEST(VaultFiles, ReadAfreshThroughThePageCacheWhenAsked) {
  TestVault vault;
  vault.add_layer(0, 4);
  const auto files = open_files(vault, false);
  EXPECT_EQ(files->description(), "buffered");
  const AlignedBuffer buffer = *AlignedBuffer::allocate(16 * kKiB);
  ReadRequest request = request_of(vault, 0, buffer.bytes());
  request.fresh = true;
  ASSERT_TRUE(files->read(request));
  EXPECT_TRUE(std::ranges::equal(buffer.bytes(), vault.record(key(0, 0))));
}

TEST(VaultFiles, NameTheSystemsReasonWhenAReadFails) {
  const auto files = VaultFiles::open(std::vector<std::filesystem::path>{"/proc/self/mem"}, false);
  ASSERT_TRUE(files);
  std::vector<std::byte> bytes(16);
  ReadRequest request;  // address 0 is not mapped
  request.into = bytes;
  const auto got = (*files)->read(request);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, Code::kIo);
  EXPECT_EQ(got.error().message, "cannot read: Input/output error");
}

}  // namespace
}  // namespace smoe
