#include "shatter/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "base/rng.h"
#include "shatter/shattering.h"

namespace smoe {
namespace {

namespace fs = std::filesystem;

using test::problems_in;
using testing::ElementsAre;
using testing::HasSubstr;

class Verify : public testing::Test {
 protected:
  Verify() { test::shatter_folder(shop_.checkpoint, shop_.model); }

  void flip(const fs::path& name, size_t offset, unsigned bit = 0) {
    std::string text = test::content_of(shop_.model / name);
    text[offset] = static_cast<char>(static_cast<unsigned char>(text[offset]) ^ (1U << bit));
    test::write_file(shop_.model / name, text);
  }

  test::Workshop shop_;
};

TEST_F(Verify, CountsWhatItHasRead) {
  const auto report = verify(shop_.model, 2, nullptr, nullptr);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->files, 3U);
  EXPECT_EQ(report->records, 8U);
  EXPECT_GT(report->tensors, 20U);
  EXPECT_GT(report->bytes, 8U * 16384U);
  EXPECT_THAT(report->problems, ElementsAre());
}

TEST_F(Verify, NamesTheRecordWithAFlippedBit) {
  const uint64_t bytes = fs::file_size(shop_.model / "vault/layer-00002.safetensors");
  flip("vault/layer-00002.safetensors", bytes - 1);  // the last record's padding
  EXPECT_THAT(problems_in(shop_.model),
              ElementsAre(HasSubstr("vault/layer-00002.safetensors: layer 2, expert 3 does not "
                                    "match its checksum")));
}

TEST_F(Verify, NamesTheTensorWithAFlippedBit) {
  flip("scout.safetensors", fs::file_size(shop_.model / "scout.safetensors") - 1);
  EXPECT_THAT(problems_in(shop_.model),
              ElementsAre(HasSubstr("scout.safetensors: tensor head does not match its checksum")));
}

TEST_F(Verify, FindsAFlippedBitAnywhere) {
  Rng rng(42);
  for (const auto& [name, content] : test::snapshot(shop_.model)) {
    if (!name.ends_with(".safetensors")) continue;
    for (int i = 0; i < 60; ++i) {
      // Half of them in the header, which is small beside the data.
      const uint64_t offset = rng.below(i % 2 == 0 ? content.size() : 16384);
      const auto bit = static_cast<unsigned>(rng.below(8));
      flip(name, offset, bit);
      EXPECT_FALSE(problems_in(shop_.model).empty()) << name << " byte " << offset;
      test::write_file(shop_.model / name, content);
    }
  }
  EXPECT_THAT(problems_in(shop_.model), ElementsAre());
}

TEST_F(Verify, NamesAVaultFileThatIsMissingOrCutShort) {  // D6
  fs::remove(shop_.model / "vault/layer-00000.safetensors");
  const fs::path cut = shop_.model / "vault/layer-00002.safetensors";
  fs::resize_file(cut, fs::file_size(cut) - 16384);
  EXPECT_THAT(problems_in(shop_.model), ElementsAre(HasSubstr("vault/layer-00000.safetensors"),
                                                    HasSubstr("vault/layer-00002.safetensors")));
}

TEST_F(Verify, NamesAVaultOfAnotherScout) {  // D6
  const fs::path other = shop_.folder / "other";
  test::shatter_folder(shop_.checkpoint, other, {.quant = Quant::kQuality});
  fs::copy_file(other / "vault/layer-00000.safetensors",
                shop_.model / "vault/layer-00000.safetensors",
                fs::copy_options::overwrite_existing);
  EXPECT_THAT(problems_in(shop_.model),
              ElementsAre(HasSubstr("layer-00000.safetensors: belongs to another model")));
}

TEST_F(Verify, NamesAFileUnderTheNameOfAnotherLayer) {
  fs::copy_file(shop_.model / "vault/layer-00000.safetensors",
                shop_.model / "vault/layer-00002.safetensors",
                fs::copy_options::overwrite_existing);
  EXPECT_THAT(problems_in(shop_.model),
              ElementsAre(HasSubstr("layer-00002.safetensors: is layer 0")));
}

TEST_F(Verify, ExaminesTheVaultEvenWhereTheScoutIsBroken) {
  flip("scout.safetensors", 20);
  flip("vault/layer-00000.safetensors",
       fs::file_size(shop_.model / "vault/layer-00000.safetensors") - 1);
  EXPECT_THAT(problems_in(shop_.model),
              ElementsAre(HasSubstr("scout.safetensors"), HasSubstr("layer 0, expert 3")));
}

TEST_F(Verify, SaysWhenThereIsNoFinishedModel) {
  fs::remove(shop_.model / "scout.safetensors");
  EXPECT_THAT(problems_in(shop_.model),
              ElementsAre(HasSubstr("cannot be examined: " + shop_.model.string() +
                                    ": holds no finished model")));
  EXPECT_THAT(problems_in(shop_.folder / "nowhere"), ElementsAre(HasSubstr("no finished model")));
}

TEST_F(Verify, ReportsProgressAndStopsWhenAsked) {
  uint64_t last = 0;
  uint64_t all = 0;
  const auto report = verify(
      shop_.model, 1,
      [&](uint64_t done, uint64_t total) {
        EXPECT_GT(done, last);
        last = done;
        all = total;
      },
      nullptr);
  ASSERT_TRUE(report);
  EXPECT_EQ(last, all);
  EXPECT_EQ(report->bytes, all);
  const std::atomic<bool> cancelled = true;
  const auto stopped = verify(shop_.model, 1, nullptr, &cancelled);
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, Code::kCancelled);
}

}  // namespace
}  // namespace smoe
