#include "engine/prefix_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "base/thread_pool.h"
#include "devices/cpu/cpu_device.h"

namespace smoe {
namespace {

ModelSpec one_small_layer() {
  ModelSpec spec;
  spec.layers.resize(1);
  spec.layers[0].attention.kv_heads = 1;
  spec.layers[0].attention.head_dim = 8;
  return spec;
}

// `count` tokens from `first` on.
std::vector<TokenId> run_of(uint32_t first, uint32_t count) {
  std::vector<TokenId> tokens(count);
  for (uint32_t i = 0; i < count; ++i) tokens[i] = TokenId{first + i};
  return tokens;
}

std::vector<TokenId> joined(std::vector<TokenId> a, const std::vector<TokenId>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

class PrefixTreeTest : public testing::Test {
 protected:
  void SetUp() override {
    auto device = make_cpu_device(pool_, CpuKernels::kPortable);
    ASSERT_TRUE(device);
    device_ = *std::move(device);
    auto cache = KvCache::open(one_small_layer(), {256, 3, 320}, *device_);  // 10 pages
    ASSERT_TRUE(cache);
    cache_.emplace(*std::move(cache));
    tree_.emplace(*cache_);
  }
  void TearDown() override {
    tree_.reset();
    EXPECT_EQ(cache_->free_pages(), 10U);  // nobody holds a page for ever
  }

  // A text that was computed and ended; every float of its pages is `mark`.
  void remember(const std::vector<TokenId>& tokens, float mark = 0) {
    const SequenceId sequence = *cache_->open_sequence();
    const uint32_t held = tree_->attach(sequence, tokens);
    ASSERT_TRUE(cache_->extend(sequence, static_cast<uint32_t>(tokens.size())));
    for (uint32_t page = held / kPagePositions; page < (tokens.size() + 31) / kPagePositions;
         ++page)
      fill(cache_->page(sequence, page), mark);
    tree_->keep(sequence, tokens, PrefixTree::Tail::kKept);
    cache_->close_sequence(sequence);
  }

  Rows row_of(uint32_t page) {
    pages_ = cache_->layer(0);
    const auto floats = static_cast<uint32_t>(pages_.page_bytes() / sizeof(float));
    return Rows{pages_.view, 10, floats, floats}.row(page);
  }
  void fill(uint32_t page, float mark) {
    const std::vector<float> values(row_of(page).width, mark);
    device_->write(row_of(page).view, std::as_bytes(std::span(values)));
  }
  float mark_of(uint32_t page) {
    std::vector<float> values(row_of(page).width);
    EXPECT_TRUE(device_->read(row_of(page), values));
    return values.back();
  }

  ThreadPool pool_{1};
  std::unique_ptr<Device> device_;
  std::optional<KvCache> cache_;
  std::optional<PrefixTree> tree_;
  KvPages pages_;
};

TEST_F(PrefixTreeTest, FindsTheLongestBeginningAndSharesItsWholePages) {
  remember(run_of(0, 64));
  const SequenceId a = *cache_->open_sequence();
  const SequenceId b = *cache_->open_sequence();
  const auto tokens = joined(run_of(0, 64), run_of(500, 10));
  EXPECT_EQ(tree_->covered(tokens), 64U);
  EXPECT_EQ(tree_->attach(a, tokens), 64U);
  EXPECT_EQ(tree_->attach(b, tokens), 64U);
  EXPECT_EQ(cache_->page(a, 1), cache_->page(b, 1));
  EXPECT_EQ(cache_->free_pages(), 8U);
  cache_->close_sequence(a);
  cache_->close_sequence(b);
  EXPECT_EQ(tree_->unused_pages(), 2U);
}

TEST_F(PrefixTreeTest, CopiesAPageThatIsUsedInPart) {
  remember(run_of(0, 50), 7);
  const SequenceId a = *cache_->open_sequence();
  EXPECT_EQ(tree_->attach(a, joined(run_of(0, 40), run_of(900, 9))), 40U);
  EXPECT_EQ(mark_of(cache_->page(a, 1)), 7);
  fill(cache_->page(a, 1), 8);  // what the sequence writes
  const SequenceId b = *cache_->open_sequence();
  EXPECT_EQ(tree_->attach(b, run_of(0, 50)), 50U);
  EXPECT_EQ(mark_of(cache_->page(b, 1)), 7);
  cache_->close_sequence(a);
  cache_->close_sequence(b);
}

TEST_F(PrefixTreeTest, LeavesOutTheCopyWhereNoPageIsFree) {
  remember(run_of(0, 50));
  const SequenceId a = *cache_->open_sequence();
  ASSERT_TRUE(cache_->extend(a, 256));
  const SequenceId b = *cache_->open_sequence();
  EXPECT_EQ(tree_->attach(b, run_of(0, 50)), 32U);
  cache_->close_sequence(a);
  cache_->close_sequence(b);
}

TEST_F(PrefixTreeTest, KeepsEqualBeginningsOnce) {
  remember(joined(run_of(0, 64), run_of(100, 32)));
  remember(joined(run_of(0, 64), run_of(200, 32)));
  EXPECT_EQ(cache_->free_pages(), 6U);  // 2 for both, 1 each
  EXPECT_EQ(tree_->covered(joined(run_of(0, 64), run_of(100, 32))), 96U);
  EXPECT_EQ(tree_->covered(joined(run_of(0, 64), run_of(200, 32))), 96U);
}

TEST_F(PrefixTreeTest, KeepsOneOfTwoThatComputedTheSameAtOnce) {
  const auto tokens = run_of(0, 40);
  const SequenceId a = *cache_->open_sequence();
  const SequenceId b = *cache_->open_sequence();
  ASSERT_TRUE(cache_->extend(a, 40));
  ASSERT_TRUE(cache_->extend(b, 40));
  tree_->keep(a, tokens, PrefixTree::Tail::kKept);
  tree_->keep(b, tokens, PrefixTree::Tail::kKept);
  cache_->close_sequence(a);
  cache_->close_sequence(b);
  EXPECT_EQ(cache_->free_pages(), 8U);
}

TEST_F(PrefixTreeTest, LetsAShortTailGrowInsteadOfKeepingBoth) {
  remember(run_of(0, 40));
  remember(run_of(0, 50), 3);
  EXPECT_EQ(cache_->free_pages(), 8U);
  EXPECT_EQ(tree_->covered(run_of(0, 60)), 50U);
}

TEST_F(PrefixTreeTest, LeavesATailOutOfASequenceThatGoesOn) {
  const SequenceId a = *cache_->open_sequence();
  ASSERT_TRUE(cache_->extend(a, 40));
  tree_->keep(a, run_of(0, 40), PrefixTree::Tail::kLeftOut);
  EXPECT_EQ(tree_->covered(run_of(0, 40)), 32U);
  cache_->close_sequence(a);
}

TEST_F(PrefixTreeTest, GivesUpWhatIsOldAndShortBeforeWhatIsNewOrLong) {
  remember(run_of(0, 128));    // 4 pages
  remember(run_of(1000, 32));  // newer, but short
  ASSERT_TRUE(tree_->make_room(6));
  EXPECT_EQ(tree_->covered(run_of(0, 128)), 128U);
  EXPECT_EQ(tree_->covered(run_of(1000, 32)), 0U);
  remember(run_of(2000, 128));
  for (int i = 0; i < 3; ++i) remember(run_of(2000, 128));
  ASSERT_TRUE(tree_->make_room(4));
  EXPECT_EQ(tree_->covered(run_of(2000, 128)), 128U);
  EXPECT_LT(tree_->covered(run_of(0, 128)), 128U);
}

TEST_F(PrefixTreeTest, NeverGivesUpWhatASequenceUses) {
  remember(run_of(0, 64));
  const SequenceId a = *cache_->open_sequence();
  ASSERT_EQ(tree_->attach(a, run_of(0, 64)), 64U);
  EXPECT_FALSE(tree_->make_room(9));
  cache_->close_sequence(a);
  EXPECT_TRUE(tree_->make_room(10));
}

}  // namespace
}  // namespace smoe
