// Runs that stopped half way, for reasons inside one process.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "shatter/shattering.h"

namespace smoe {
namespace {

namespace fs = std::filesystem;

using test::shatter_outcome;
using test::snapshot;

test::Snapshot whole(const test::Workshop& shop) {
  const test::TempDir folder;
  test::shatter_folder(shop.checkpoint, folder / "model");
  return snapshot(folder / "model");
}

bool has_partial(const test::Snapshot& files) {
  for (const auto& [name, content] : files)
    if (name.ends_with(".partial")) return true;
  return false;
}

uint64_t inode_of(const fs::path& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? info.st_ino : 0;
}

TEST(Resume, GoesOnAfterACancelAtAnyMoment) {
  const test::Workshop shop;
  const auto wanted = whole(shop);
  const int calls = [&] {
    int count = 0;
    ShatterOptions options;
    options.progress = [&](const ShatterProgress&) { ++count; };
    test::shatter_folder(shop.checkpoint, shop.folder / "counted", options);
    return count;
  }();
  ASSERT_GT(calls, 20);
  for (int stop = 1; stop < calls; ++stop) {
    const fs::path model = shop.folder / ("model" + std::to_string(stop));
    std::atomic<bool> cancelled = false;
    int call = 0;
    ShatterOptions options;
    options.cancelled = &cancelled;
    options.progress = [&](const ShatterProgress&) { cancelled = ++call == stop; };
    const std::string outcome = shatter_outcome(shop.checkpoint, model, options);
    ASSERT_TRUE(outcome.starts_with("cancelled: ")) << outcome;
    EXPECT_FALSE(has_partial(snapshot(model)));
    EXPECT_FALSE(fs::exists(model / "scout.safetensors"));
    test::shatter_folder(shop.checkpoint, model);
    EXPECT_TRUE(snapshot(model) == wanted) << stop;
  }
}

TEST(Resume, KeepsFinishedFilesAndOverwritesPartialOnes) {
  const test::Workshop shop;
  const auto wanted = whole(shop);
  test::shatter_folder(shop.checkpoint, shop.model);
  const fs::path kept = shop.model / "vault/layer-00000.safetensors";
  const uint64_t inode = inode_of(kept);
  fs::remove(shop.model / "vault/layer-00002.safetensors");
  fs::remove(shop.model / "scout.safetensors");
  fs::remove(shop.model / "config.json");
  test::write_file(shop.model / "vault/layer-00002.safetensors.partial", "half a record");
  test::write_file(shop.model / "scout.safetensors.partial", "x");
  test::write_file(shop.model / "tokenizer.json.partial", "x");
  const auto report = test::shatter_folder(shop.checkpoint, shop.model);
  EXPECT_EQ(report.layers_resumed, 1U);
  EXPECT_EQ(inode_of(kept), inode);
  EXPECT_TRUE(snapshot(shop.model) == wanted);
}

// Trap 42: half a file under a final name must not pass for a whole one.
TEST(Resume, WritesAFileThatIsNotWholeAgain) {
  const test::Workshop shop;
  const auto wanted = whole(shop);
  for (const char* name : {"vault/layer-00002.safetensors", "scout.safetensors"}) {
    const uint64_t bytes = wanted.at(name).size();
    for (const uint64_t length : {uint64_t{0}, uint64_t{7}, uint64_t{100}, bytes / 2, bytes - 1}) {
      test::shatter_folder(shop.checkpoint, shop.model);
      fs::resize_file(shop.model / name, length);
      const auto report = test::shatter_folder(shop.checkpoint, shop.model);
      EXPECT_FALSE(report.already_done);
      ASSERT_EQ(report.notes.size(), 1U);
      EXPECT_TRUE(report.notes[0].starts_with((shop.model / name).string())) << report.notes[0];
      EXPECT_TRUE(snapshot(shop.model) == wanted) << name << " of " << length;
    }
  }
}

TEST(Resume, LooksAtTheHeaderOfAFinishedFile) {
  const test::Workshop shop;
  const auto wanted = whole(shop);
  test::shatter_folder(shop.checkpoint, shop.model);
  std::string text = wanted.at("vault/layer-00000.safetensors");
  text[text.find("record_checksums") + 25] ^= 1;
  test::write_file(shop.model / "vault/layer-00000.safetensors", text);
  test::shatter_folder(shop.checkpoint, shop.model);
  EXPECT_TRUE(snapshot(shop.model) == wanted);
}

// The second half of a model must not come from other bytes than the first.
TEST(Resume, NoticesACheckpointThatChangesDuringTheRun) {
  for (const bool truncated : {false, true}) {
    const test::Workshop shop({.layers = 3, .experts = 4, .dense_layers = {1}}, 4);
    const fs::path shard = shop.checkpoint / "model-00004-of-00004.safetensors";
    int call = 0;
    ShatterOptions options;
    options.progress = [&](const ShatterProgress&) {
      if (++call != 5) return;
      if (truncated) return fs::resize_file(shard, fs::file_size(shard) - 64);
      std::fstream(shard, std::ios::in | std::ios::out | std::ios::binary).seekp(-4, std::ios::end)
          << "new!";
      fs::last_write_time(shard, fs::last_write_time(shard) + std::chrono::seconds(2));
    };
    EXPECT_EQ(shatter_outcome(shop.checkpoint, shop.model, options),
              "corrupt: " + shop.checkpoint.string() +
                  ": changed while it was being read; what was made of it is removed, run the same "
                  "command again");
    EXPECT_EQ(test::names_of(snapshot(shop.model)), std::vector<std::string>{"vault/"});
  }
}

}  // namespace
}  // namespace smoe
