// What is on disk is either exactly the page that was kept, or not there: RELIABILITY.md F11, traps
// 20, 21, 23, 40.
#include "engine/prefix_store.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "support/temp_dir.h"

namespace smoe {
namespace {

namespace fs = std::filesystem;

constexpr size_t kPage = 1000;
constexpr size_t kFile = 168 + 5 + kPage + 8;

std::vector<TokenId> tokens_from(uint32_t first, uint32_t count = 32) {
  std::vector<TokenId> tokens;
  for (uint32_t i = 0; i < count; ++i) tokens.push_back(TokenId{first + i});
  return tokens;
}

class PrefixStoreTest : public testing::Test {
 protected:
  std::unique_ptr<PrefixStore> open(uint64_t space = 1 << 20, uint64_t day = 1 << 20,
                                    const std::string& identity = "model") {
    auto store = PrefixStore::open({folder_, space, day, identity}, kPage);
    EXPECT_TRUE(store) << (store ? "" : store.error().message);
    return store ? *std::move(store) : nullptr;
  }
  static void save(PrefixStore& store, PageKey parent, const std::vector<TokenId>& tokens,
                   uint8_t mark) {
    std::ranges::fill(store.payload(), std::byte{mark});
    store.save(parent, tokens);
  }
  static bool loads(PrefixStore& store, PageKey parent, const std::vector<TokenId>& tokens,
                    uint8_t mark) {
    std::ranges::fill(store.payload(), std::byte{0});
    return store.load(parent, tokens) &&
           std::ranges::all_of(store.payload(), [&](std::byte b) { return b == std::byte{mark}; });
  }
  std::vector<fs::path> files() const {
    std::vector<fs::path> paths;
    for (const auto& entry : fs::directory_iterator(folder_))
      if (entry.path().extension() == ".kv") paths.push_back(entry.path());
    return paths;
  }

  test::TempDir temporary_;
  fs::path folder_ = temporary_.path() / "kv";
};

TEST_F(PrefixStoreTest, GivesPagesBackAfterARestart) {
  {
    const auto store = open();
    save(*store, store->root(), tokens_from(1), 7);
    save(*store, store->key_of(store->root(), tokens_from(1)), tokens_from(50, 3), 8);
  }
  const auto store = open();
  EXPECT_TRUE(loads(*store, store->root(), tokens_from(1), 7));
  const PageKey first = store->key_of(store->root(), tokens_from(1));
  EXPECT_TRUE(loads(*store, first, tokens_from(50, 3), 8));
  EXPECT_FALSE(store->load(first, tokens_from(50, 4)));
  EXPECT_FALSE(store->load(store->root(), tokens_from(2)));
  EXPECT_EQ(store->stats().held_bytes, 2 * kFile);
  EXPECT_EQ(store->stats().pages_read, 2U);
}

TEST_F(PrefixStoreTest, IsForItsOwnerAlone) {
  const auto store = open();
  save(*store, store->root(), tokens_from(1), 7);
  struct stat info {};
  ASSERT_EQ(::stat(folder_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0700U);
  ASSERT_EQ(files().size(), 1U);
  ASSERT_EQ(::stat(files().front().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
}

TEST_F(PrefixStoreTest, GivesNothingToAnotherModel) {
  save(*open(), open()->root(), tokens_from(1), 7);
  const auto other = open(1 << 20, 1 << 20, "madel");
  EXPECT_FALSE(other->load(other->root(), tokens_from(1)));
  // Not even when the file bears the name of the other's page.
  const auto own = open();
  fs::copy_file(files().front(), folder_ / "kept");
  save(*other, other->root(), tokens_from(1), 9);
  for (const fs::path& path : files())
    fs::copy_file(folder_ / "kept", path, fs::copy_options::overwrite_existing);
  EXPECT_FALSE(other->load(other->root(), tokens_from(1)));
  EXPECT_EQ(other->stats().pages_damaged, 1U);
}

// Every single byte counts, and so does every length.
TEST_F(PrefixStoreTest, RemovesWhatIsDamaged) {
  std::string whole;
  {
    const auto store = open();
    save(*store, store->root(), tokens_from(1), 7);
    std::ifstream in(files().front(), std::ios::binary);
    whole.assign(std::istreambuf_iterator<char>(in), {});
  }
  const fs::path path = files().front();
  ASSERT_EQ(whole.size(), kFile);
  const auto is_refused = [&](const std::string& content) {
    std::ofstream(path, std::ios::binary) << content;
    const auto store = open();
    return !store->load(store->root(), tokens_from(1)) && files().empty();
  };
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    ASSERT_TRUE(is_refused(damaged)) << at;
  }
  for (const size_t bytes : {size_t{0}, size_t{1}, kFile - 1, size_t{100}})
    EXPECT_TRUE(is_refused(whole.substr(0, bytes))) << bytes;
  EXPECT_TRUE(is_refused(whole + "x"));
  EXPECT_FALSE(is_refused(whole));
}

TEST_F(PrefixStoreTest, FollowsNoLinksAndTakesNoFolders) {
  fs::path name;
  {
    const auto store = open();
    save(*store, store->root(), tokens_from(1), 7);
    name = files().front();
  }
  fs::rename(name, temporary_.path() / "elsewhere");
  fs::create_symlink(temporary_.path() / "elsewhere", name);
  EXPECT_FALSE(open()->has(open()->key_of(open()->root(), tokens_from(1))));
  fs::remove(name);
  fs::create_directory(name);
  const auto store = open();
  EXPECT_FALSE(store->load(store->root(), tokens_from(1)));
  save(*store, store->root(), tokens_from(1), 7);  // cannot, and says so
  EXPECT_FALSE(store->load(store->root(), tokens_from(1)));
}

TEST_F(PrefixStoreTest, KeepsItsSpaceByGivingUpWhatWasNotUsedForLongest) {
  const auto store = open(3 * kFile);
  for (uint32_t i = 0; i < 3; ++i) save(*store, store->root(), tokens_from(i), 7);
  EXPECT_TRUE(loads(*store, store->root(), tokens_from(0), 7));
  save(*store, store->root(), tokens_from(3), 7);
  EXPECT_EQ(files().size(), 3U);
  EXPECT_TRUE(loads(*store, store->root(), tokens_from(0), 7));
  EXPECT_FALSE(store->load(store->root(), tokens_from(1)));
  EXPECT_LE(store->stats().held_bytes, 3 * kFile);
}

// Trap 40: what is held is bounded, and so is what is written, over restarts too.
TEST_F(PrefixStoreTest, WritesNoMoreThanTheDaysBudget) {
  const auto store = open(kFile, 3 * kFile);
  for (uint32_t i = 0; i < 3; ++i) {
    save(*store, store->root(), tokens_from(i), 7);
    save(*store, store->root(), tokens_from(i), 7);  // is there: not written again
  }
  EXPECT_EQ(store->stats().today_bytes, 3 * kFile);
  save(*store, store->root(), tokens_from(9), 7);
  EXPECT_FALSE(store->has(store->key_of(store->root(), tokens_from(9))));
  const auto later = open(kFile, 3 * kFile);
  EXPECT_EQ(later->stats().today_bytes, 3 * kFile);
  EXPECT_FALSE(later->may_write());
}

}  // namespace
}  // namespace smoe
