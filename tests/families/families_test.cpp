// Every family's checkpoints, those of the reference outputs among them, become the right spec.
#include <gtest/gtest.h>

#include <algorithm>

#include "families/reading.h"

namespace smoe {
namespace {

using test::read_back;
using test::spec_of;
using test::tiny_checkpoint;
using test::TinyShape;

ModelSpec golden(const std::string& name) {
  const auto model =
      test::read_folder(std::filesystem::path(SMOE_SOURCE_DIR) / "tests/data/golden" / name);
  EXPECT_TRUE(model) << model.error().message;
  return model ? model->spec : ModelSpec();
}

TEST(Families, ReadTheQwen3Checkpoint) {
  const ModelSpec spec = golden("qwen3_moe");
  ASSERT_EQ(spec.layers.size(), 3U);
  EXPECT_EQ(spec.family, "qwen3_moe");
  EXPECT_EQ(spec.width, 64U);
  EXPECT_EQ(spec.vocabulary, 160U);
  EXPECT_EQ(spec.context, 512U);
  EXPECT_EQ(spec.norm_epsilon, 1e-6F);
  EXPECT_FALSE(spec.tied_head);
  EXPECT_EQ(spec.bos, std::vector<uint32_t>{0});
  EXPECT_EQ(spec.eos, std::vector<uint32_t>{1});
  for (const LayerSpec& layer : spec.layers) {
    EXPECT_EQ(layer.attention.heads, 4U);
    EXPECT_EQ(layer.attention.kv_heads, 2U);
    EXPECT_EQ(layer.attention.head_dim, 24U);
    EXPECT_EQ(layer.attention.qk_norm, QkNorm::kPerHead);
    EXPECT_FALSE(layer.attention.qkv_bias);
    EXPECT_FLOAT_EQ(layer.attention.scale, 0.20412415F);
    EXPECT_EQ(layer.rope.theta, 1e6);
    EXPECT_EQ(layer.rope.dims, 24U);
    EXPECT_EQ(layer.ffn.kind, FfnKind::kExperts);
    EXPECT_EQ(layer.ffn.experts, 16U);
    EXPECT_EQ(layer.ffn.width, 32U);
    EXPECT_EQ(layer.ffn.router.active_experts, 4U);
    EXPECT_EQ(layer.ffn.router.score, Score::kSoftmaxThenTopK);
    EXPECT_TRUE(layer.ffn.router.renormalize);
    EXPECT_EQ(layer.ffn.shared_width, 0U);
  }
}

TEST(Families, ReadTheShardedQwen3CheckpointWithDenseLayersInBetween) {
  const ModelSpec spec = golden("qwen3_moe_mixed");
  ASSERT_EQ(spec.layers.size(), 4U);
  EXPECT_TRUE(spec.tied_head);
  // decoder_sparse_step 2 makes 0 and 2 dense, mlp_only_layers [1] makes 1 dense.
  for (const size_t layer : {0U, 1U, 2U}) {
    EXPECT_EQ(spec.layers[layer].ffn.kind, FfnKind::kDense) << layer;
    EXPECT_EQ(spec.layers[layer].ffn.width, 96U);
  }
  EXPECT_EQ(spec.layers[3].ffn.kind, FfnKind::kExperts);
  EXPECT_FALSE(spec.layers[3].ffn.router.renormalize);
}

TEST(Families, ReadTheFp8Checkpoint) {
  const ModelSpec spec = golden("qwen3_moe_fp8");
  ASSERT_EQ(spec.layers.size(), 2U);
  EXPECT_EQ(spec.layers[0].ffn.width, 96U);
  EXPECT_EQ(spec.width, 192U);
}

TEST(Families, ReadTheQwen2Checkpoint) {
  const ModelSpec spec = golden("qwen2_moe");
  ASSERT_EQ(spec.layers.size(), 3U);
  const LayerSpec& layer = spec.layers[2];
  EXPECT_TRUE(layer.attention.qkv_bias);
  EXPECT_FALSE(layer.attention.output_bias);
  EXPECT_EQ(layer.attention.qk_norm, QkNorm::kNone);
  EXPECT_EQ(layer.attention.head_dim, 16U);
  EXPECT_EQ(layer.ffn.experts, 12U);
  EXPECT_EQ(layer.ffn.shared_width, 80U);
  EXPECT_TRUE(layer.ffn.shared_gated);
  EXPECT_FALSE(layer.ffn.router.renormalize);
}

TEST(Families, ReadTheDeepseekCheckpoint) {
  const ModelSpec spec = golden("deepseek_moe_v1");
  ASSERT_EQ(spec.layers.size(), 3U);
  EXPECT_EQ(spec.layers[0].ffn.kind, FfnKind::kDense);
  EXPECT_EQ(spec.layers[0].ffn.width, 96U);
  const FfnSpec& ffn = spec.layers[1].ffn;
  EXPECT_EQ(ffn.kind, FfnKind::kExperts);
  EXPECT_EQ(ffn.shared_width, 64U);  // two of 32
  EXPECT_FALSE(ffn.shared_gated);
  EXPECT_FALSE(ffn.router.renormalize);
  EXPECT_EQ(ffn.router.scale, 1.0F);
}

TEST(Families, ReadTheOlmoeCheckpoint) {
  const ModelSpec spec = golden("olmoe");
  ASSERT_EQ(spec.layers.size(), 3U);
  EXPECT_EQ(spec.layers[0].attention.qk_norm, QkNorm::kFullWidth);
  EXPECT_EQ(spec.layers[0].ffn.width, 32U);
}

TEST(Families, ReadTheMixtralCheckpoint) {
  const ModelSpec spec = golden("mixtral");
  ASSERT_EQ(spec.layers.size(), 3U);
  EXPECT_EQ(spec.layers[0].attention.head_dim, 16U);  // head_dim is null
  EXPECT_EQ(spec.layers[0].ffn.experts, 8U);
  EXPECT_TRUE(spec.layers[0].ffn.router.renormalize);
  EXPECT_EQ(spec.layers[0].ffn.router.score, Score::kSoftmaxThenTopK);
}

TEST(Families, ReadTheDemoCheckpointInTheOlderSpelling) {
  const auto model = test::read_folder(std::filesystem::path(SMOE_SOURCE_DIR) / "models/tales");
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->spec.layers[0].ffn.experts, 64U);
  EXPECT_EQ(model->spec.layers[0].rope.theta, 10000.0);
  // config.json says 2, generation_config.json [2, 0].
  EXPECT_EQ(model->spec.eos, (std::vector<uint32_t>{2, 0}));
}

TEST(Families, NameTheTensorBehindEachRole) {
  const auto qwen = read_back(tiny_checkpoint());
  ASSERT_TRUE(qwen) << qwen.error().message;
  EXPECT_EQ(qwen->source_name(Role::kExpertUp, 1, 5),
            "model.layers.1.mlp.experts.5.up_proj.weight");
  const auto mixtral = read_back(tiny_checkpoint({.model_type = "mixtral"}));
  ASSERT_TRUE(mixtral) << mixtral.error().message;
  EXPECT_EQ(mixtral->source_name(Role::kExpertUp, 1, 5),
            "model.layers.1.block_sparse_moe.experts.5.w3.weight");
  EXPECT_EQ(mixtral->source_name(Role::kExpertDown, 0, 7),
            "model.layers.0.block_sparse_moe.experts.7.w2.weight");
}

// A family's own numbers: those of the tiny shape that it has.
TinyShape shape_of(const std::string& model_type) {
  TinyShape shape{.model_type = model_type};
  if (model_type == "deepseek" || model_type == "qwen2_moe") shape.dense_layers = {0};
  return shape;
}

TEST(Families, ReadBothSpellingsOfAConfigAsTheSameSpec) {  // traps 28, 30
  for (const Family* family : known_families()) {
    TinyShape shape = shape_of(std::string(family->model_type));
    const ModelSpec older = spec_of(tiny_checkpoint(shape));
    shape.newer_spelling = true;
    EXPECT_EQ(spec_of(tiny_checkpoint(shape)), older) << family->model_type;
    EXPECT_EQ(older.family, family->model_type);
    EXPECT_EQ(older.layers.size(), 2U);
  }
}

TEST(Families, ReadEveryFloatType) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kF8E4M3})
    EXPECT_TRUE(read_back(tiny_checkpoint({.weights = dtype}))) << name_of(dtype);
}

TEST(Families, ReadTiedAndUntiedHeads) {
  for (const Family* family : known_families())
    for (const bool tied : {false, true}) {
      TinyShape shape = shape_of(std::string(family->model_type));
      shape.tied_head = tied;
      EXPECT_EQ(spec_of(tiny_checkpoint(shape)).tied_head, tied) << family->model_type;
    }
}

TEST(Families, ReadAttentionBiasesWhereTheConfigAsksForThem) {
  for (const char* model_type : {"qwen3_moe", "deepseek", "olmoe"}) {
    const ModelSpec spec =
        spec_of(tiny_checkpoint({.model_type = model_type, .attention_bias = true}));
    ASSERT_EQ(spec.layers.size(), 2U) << model_type;
    EXPECT_TRUE(spec.layers[0].attention.qkv_bias);
    EXPECT_TRUE(spec.layers[0].attention.output_bias);
  }
}

TEST(Families, AreListedByName) {
  std::vector<std::string> names;
  for (const Family* family : known_families()) names.emplace_back(family->model_type);
  EXPECT_EQ(names,
            (std::vector<std::string>{"deepseek", "mixtral", "olmoe", "qwen2_moe", "qwen3_moe"}));
  EXPECT_EQ(find_family("gpt2"), nullptr);
}

TEST(Families, StateAReasonForEveryDefault) {
  for (const Family* family : known_families())
    for (const auto rules : {family->common_fields, family->fields})
      for (const FieldRule& rule : rules)
        EXPECT_EQ(rule.absent == Absent::kDefault, !rule.reason.empty())
            << family->model_type << " " << rule.keys[0];
}

}  // namespace
}  // namespace smoe
