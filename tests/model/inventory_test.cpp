#include "model/inventory.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/tiny_spec.h"

namespace smoe {
namespace {

std::vector<std::string> texts(const ModelSpec& spec) {
  std::vector<std::string> lines;
  for (const TensorNeed& need : scout_needs(spec))
    lines.push_back(fmt::format("{} {}x{}{}", scout_name(need.role, need.layer), need.rows,
                                need.cols, need.vector ? " vector" : ""));
  return lines;
}

TEST(Inventory, ListsEveryTensorInTheOrderInWhichAStepReadsThem) {
  EXPECT_THAT(
      texts(test::tiny_spec()),
      testing::ElementsAre(
          "embedding 48x32", "layer.0.attention.norm 1x32 vector", "layer.0.attention.q 32x32",
          "layer.0.attention.k 16x32", "layer.0.attention.v 16x32",
          "layer.0.attention.output 32x32", "layer.0.ffn.norm 1x32 vector",
          "layer.0.dense.gate 64x32", "layer.0.dense.up 64x32", "layer.0.dense.down 32x64",
          "layer.1.attention.norm 1x32 vector", "layer.1.attention.q 32x32",
          "layer.1.attention.k 16x32", "layer.1.attention.v 16x32",
          "layer.1.attention.q_bias 1x32 vector", "layer.1.attention.k_bias 1x16 vector",
          "layer.1.attention.v_bias 1x16 vector", "layer.1.attention.output 32x32",
          "layer.1.ffn.norm 1x32 vector", "layer.1.router 8x32", "layer.1.shared.gate 40x32",
          "layer.1.shared.up 40x32", "layer.1.shared.down 32x40", "layer.1.shared.router 1x32",
          "final_norm 1x32 vector", "head 48x32"));
}

TEST(Inventory, HasNoHeadWhenTheEmbeddingIsTheHead) {
  ModelSpec spec = test::tiny_spec();
  spec.tied_head = true;
  EXPECT_EQ(texts(spec).back(), "final_norm 1x32 vector");
  EXPECT_FALSE(is_needed(spec, Role::kHead, 0));
}

TEST(Inventory, SizesQueryAndKeyNormsByTheirKind) {
  ModelSpec spec = test::tiny_spec();
  EXPECT_FALSE(is_needed(spec, Role::kQueryNorm, 0));
  spec.layers[0].attention.qk_norm = QkNorm::kPerHead;
  EXPECT_EQ(need_of(spec, Role::kQueryNorm, 0).cols, 8U);
  EXPECT_EQ(need_of(spec, Role::kKeyNorm, 0).cols, 8U);
  spec.layers[0].attention.qk_norm = QkNorm::kFullWidth;
  EXPECT_EQ(need_of(spec, Role::kQueryNorm, 0).cols, 32U);
  EXPECT_EQ(need_of(spec, Role::kKeyNorm, 0).cols, 16U);
  EXPECT_TRUE(is_needed(spec, Role::kQueryNorm, 0));
}

TEST(Inventory, KnowsExpertsWithoutListingThem) {
  const ModelSpec spec = test::tiny_spec();
  EXPECT_TRUE(is_needed(spec, Role::kExpertUp, 1));
  EXPECT_FALSE(is_needed(spec, Role::kExpertUp, 0));
  EXPECT_FALSE(is_needed(spec, Role::kExpertUp, 2));
  const TensorNeed down = need_of(spec, Role::kExpertDown, 1);
  EXPECT_EQ(down.rows, 32U);
  EXPECT_EQ(down.cols, 24U);
}

}  // namespace
}  // namespace smoe
