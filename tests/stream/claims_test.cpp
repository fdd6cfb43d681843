// What earlier runs wanted: a file that may be missing, damaged or another model's, and a ring that
// is filled by it.
#include "stream/claims.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "stream/vault_fixture.h"

namespace smoe {
namespace {

namespace fs = std::filesystem;
using test::becomes_true;
using test::experts;
using test::key;
using test::opened;
using test::take_all;
using test::TestVault;

SMOE_FOR_EVERY_ENGINE(WarmRing);

class ClaimsFile : public testing::Test {
 protected:
  void SetUp() override { vault_.add_layer(0, 4).add_layer(3, 2); }
  std::string content() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void put(const std::string& text) { std::ofstream(path_, std::ios::binary) << text; }

  TestVault vault_;
  test::TempDir dir_;
  fs::path path_ = dir_ / "claims.bin";
};

TEST_F(ClaimsFile, RemembersWhatWasWantedMost) {
  Claims claims(vault_.files());
  claims.add([](ExpertKey one) { return one == key(3, 1) ? 9U : one == key(0, 2) ? 4U : 0U; });
  ASSERT_TRUE(claims.write(path_));
  Claims again(vault_.files());
  ASSERT_TRUE(again.read(path_));
  const std::vector<ExpertKey> wanted{key(3, 1), key(0, 2)};
  EXPECT_EQ(again.most_wanted(10), wanted);
  EXPECT_EQ(again.most_wanted(1).size(), 1U);
}

TEST_F(ClaimsFile, LetsANewRunWeighAsMuchAsAllBefore) {
  Claims claims(vault_.files());
  for (int run = 0; run < 5; ++run)
    claims.add([](ExpertKey one) { return one == key(0, 0) ? 1000U : 0U; });
  claims.add([](ExpertKey one) { return one == key(0, 1) ? 3U : 0U; });
  claims.add([](ExpertKey one) { return one == key(0, 1) ? 3U : 0U; });
  EXPECT_EQ(claims.most_wanted(1).front(), key(0, 1));
  claims.add([](ExpertKey) { return 0U; });
  EXPECT_EQ(claims.most_wanted(9).size(), 2U) << "a run that wanted nothing says nothing";
}

TEST_F(ClaimsFile, ThatIsDamagedOrForeignIsRefusedAndChangesNothing) {
  Claims claims(vault_.files());
  claims.add([](ExpertKey) { return 1U; });
  ASSERT_TRUE(claims.write(path_));
  const std::string whole = content();
  Claims fresh(vault_.files());
  EXPECT_EQ(fresh.read(dir_ / "missing").error().code, Code::kNotFound);
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string flipped = whole;
    flipped[at] = static_cast<char>(flipped[at] ^ 1);
    put(flipped);
    ASSERT_FALSE(fresh.read(path_)) << "byte " << at;
    put(whole.substr(0, at));
    ASSERT_FALSE(fresh.read(path_)) << "cut at " << at;
  }
  EXPECT_TRUE(fresh.most_wanted(9).empty());
  put(whole);
  TestVault other;
  other.add_layer(0, 4).add_layer(2, 2);
  EXPECT_EQ(Claims(other.files()).read(path_).error().code, Code::kCorrupt);
  EXPECT_TRUE(fresh.read(path_));
}

TEST_P(WarmRing, ReadsWithoutADemandAndServesItFromMemory) {
  TestVault vault;
  vault.add_layer(0, 16).add_layer(1, 16);
  const auto streamer = opened(vault, with_slots({8}));
  streamer->warm(experts(0, 0, 16));
  ASSERT_TRUE(becomes_true([&] { return !streamer->tend(); }));
  for (uint32_t expert = 0; expert < 8; ++expert) EXPECT_TRUE(streamer->resident(key(0, expert)));
  EXPECT_FALSE(streamer->resident(key(0, 8))) << "only free slots are filled";
  take_all(*streamer, vault, experts(0, 0, 4));
  EXPECT_EQ(streamer->stats().hits, 4U);
  EXPECT_EQ(streamer->lends(key(0, 3)), 1U);

  take_all(*streamer, vault, experts(1, 0, 3));
  EXPECT_TRUE(streamer->resident(key(0, 4))) << "the least wanted ones went first";
  EXPECT_FALSE(streamer->resident(key(0, 7)));
}

TEST_P(WarmRing, GivesWayToDemandsBeforeItIsWarm) {
  TestVault vault;
  vault.add_layer(0, 64).add_layer(1, 64);
  const auto streamer = opened(vault, with_slots({16}));
  streamer->warm(experts(0, 0, 16));
  for (int round = 0; round < 3; ++round) {
    take_all(*streamer, vault, experts(1, 0, 64));
    take_all(*streamer, vault, experts(0, 0, 64), Streamer::Pick::kFirst);
  }
}

}  // namespace
}  // namespace smoe
