// Which folders a shatter may write to.
#include <gtest/gtest.h>

#include <fstream>

#include "shatter/model_folder.h"
#include "shatter/shattering.h"

namespace smoe {
namespace {

namespace fs = std::filesystem;

using test::shatter_outcome;
using test::snapshot;

TEST(ModelFolder, OfAFinishedModelIsLeftAlone) {
  const test::Workshop shop;
  const auto first = test::shatter_folder(shop.checkpoint, shop.model);
  EXPECT_FALSE(first.already_done);
  const auto before = snapshot(shop.model);
  const auto second = test::shatter_folder(shop.checkpoint, shop.model);
  EXPECT_TRUE(second.already_done);
  EXPECT_EQ(second.bytes_written, 0U);
  EXPECT_TRUE(snapshot(shop.model) == before);
}

TEST(ModelFolder, OfAFinishedModelFollowsTheTokenizer) {
  const test::Workshop shop;
  test::shatter_folder(shop.checkpoint, shop.model);
  test::write_file(shop.checkpoint / "tokenizer.json", "{\"model\": {\"type\": \"BPE\"}}");
  const auto report = test::shatter_folder(shop.checkpoint, shop.model);
  EXPECT_TRUE(report.already_done);
  EXPECT_EQ(report.notes, std::vector<std::string>{"tokenizer.json was brought up to date"});
  EXPECT_EQ(test::content_of(shop.model / "tokenizer.json"),
            test::content_of(shop.checkpoint / "tokenizer.json"));
}

TEST(ModelFolder, OfAnotherPlanIsRefusedAndLeftAlone) {
  const test::Workshop shop;
  test::shatter_folder(shop.checkpoint, shop.model);
  const auto before = snapshot(shop.model);
  const std::string refusal =
      "usage: " + (shop.model / "scout.safetensors").string() +
      ": belongs to a model of another checkpoint or of other options; choose a new folder, or "
      "remove this one first";
  EXPECT_EQ(shatter_outcome(shop.checkpoint, shop.model, {.quant = Quant::kQuality}), refusal);
  test::tiny_checkpoint({.layers = 3, .experts = 4, .dense_layers = {1}, .renormalize = false})
      .write(shop.folder / "other");
  EXPECT_EQ(shatter_outcome(shop.folder / "other", shop.model), refusal);
  // Half a model of another plan is no better.
  fs::remove(shop.model / "scout.safetensors");
  EXPECT_TRUE(
      shatter_outcome(shop.folder / "other", shop.model)
          .starts_with("usage: " + (shop.model / "vault/layer-00000.safetensors").string()));
  test::shatter_folder(shop.checkpoint, shop.model);
  EXPECT_TRUE(snapshot(shop.model) == before);
}

TEST(ModelFolder, ThatHoldsSomethingElseIsRefusedAndLeftAlone) {
  for (const char* name : {"notes.txt", "model.safetensors", "config.json", "tokenizer.json",
                           "vault/photo.jpg", "vault/layer-00001.safetensors"}) {
    const test::Workshop shop;
    fs::create_directories((shop.model / name).parent_path());
    test::write_file(shop.model / name, "precious");
    const auto before = snapshot(shop.model);
    EXPECT_EQ(shatter_outcome(shop.checkpoint, shop.model),
              "usage: " + shop.model.string() +
                  ": is not empty and no model of this checkpoint (it holds " + name +
                  "); choose a new folder");
    EXPECT_TRUE(snapshot(shop.model) == before) << name;
  }
}

TEST(ModelFolder, IsNeverTheCheckpointItself) {
  const test::Workshop shop;
  const auto before = snapshot(shop.checkpoint);
  EXPECT_TRUE(shatter_outcome(shop.checkpoint, shop.checkpoint).starts_with("usage: "));
  EXPECT_TRUE(snapshot(shop.checkpoint) == before);
}

TEST(ModelFolder, MayLieInsideTheCheckpoint) {
  const test::Workshop shop;
  test::shatter_folder(shop.checkpoint, shop.checkpoint / "smoe");
  EXPECT_EQ(test::problems_in(shop.checkpoint / "smoe"), std::vector<std::string>());
}

TEST(ModelFolder, MayBeEmptyOrDeepOrEndInASlash) {
  const test::Workshop shop;
  fs::create_directory(shop.model);
  test::write_file(shop.model / ".directory", "hidden");
  test::shatter_folder(shop.checkpoint, shop.model.string() + "/");
  EXPECT_EQ(test::problems_in(shop.model), std::vector<std::string>());
  test::shatter_folder(shop.checkpoint, shop.folder / "a/b/c/");
  EXPECT_EQ(test::problems_in(shop.folder / "a/b/c"), std::vector<std::string>());
}

TEST(ModelFolder, ThatIsAFileIsRefused) {
  const test::Workshop shop;
  test::write_file(shop.model, "a file");
  EXPECT_EQ(shatter_outcome(shop.checkpoint, shop.model),
            "usage: " + shop.model.string() + ": is no folder; choose another name");
}

TEST(ModelFolder, IsWrittenByOneShatterAtATime) {
  const test::Workshop shop;
  fs::create_directory(shop.model);
  const auto lock = FolderLock::take(shop.model);
  ASSERT_TRUE(lock);
  EXPECT_EQ(shatter_outcome(shop.checkpoint, shop.model),
            "usage: " + shop.model.string() + ": another shatter is writing to this folder");
}

TEST(ModelFolder, OfAMissingOrBrokenCheckpointIsNotCreated) {
  const test::Workshop shop;
  EXPECT_TRUE(shatter_outcome(shop.folder / "nowhere", shop.model).starts_with("not_found: "));
  EXPECT_FALSE(fs::exists(shop.model));
  fs::resize_file(shop.checkpoint / "model.safetensors", 1000);
  EXPECT_TRUE(shatter_outcome(shop.checkpoint, shop.model).starts_with("corrupt: "));
  EXPECT_FALSE(fs::exists(shop.model));
}

}  // namespace
}  // namespace smoe
