// Tensors that are missing, left over, or contradict the config.
#include <gtest/gtest.h>

#include "families/reading.h"
#include "formats/block_format.h"

namespace smoe {
namespace {

using test::read_back;
using test::refusal;
using test::spec_of;
using test::tiny_checkpoint;
using test::TinyCheckpoint;
using test::TinyShape;

TEST(Tensors, MustAllBeThere) {
  for (const Family* family : known_families()) {
    const TinyCheckpoint whole = tiny_checkpoint({.model_type = std::string(family->model_type)});
    for (const auto& tensor : whole.tensors) {
      TinyCheckpoint checkpoint = whole;
      checkpoint.remove(tensor.name);
      EXPECT_TRUE(refusal(checkpoint)
                      .starts_with("not_found: F: " + tensor.name + ": this tensor is missing"))
          << refusal(checkpoint);
    }
  }
}

TEST(Tensors, MustHaveTheShapesThatTheConfigAsksFor) {
  for (const Family* family : known_families()) {
    const TinyCheckpoint whole = tiny_checkpoint({.model_type = std::string(family->model_type)});
    for (const auto& tensor : whole.tensors) {
      TinyCheckpoint checkpoint = whole;
      std::vector<uint64_t> shape = tensor.shape;
      shape.back() += 2;
      checkpoint.put(tensor.name, tensor.dtype, shape);
      EXPECT_TRUE(refusal(checkpoint).starts_with("corrupt: F: " + tensor.name + ": is ["))
          << refusal(checkpoint);
      checkpoint.put(tensor.name, tensor.dtype, {tensor.shape[0], tensor.shape.back(), 1});
      EXPECT_TRUE(refusal(checkpoint).starts_with("corrupt: F: " + tensor.name + ": is ["))
          << refusal(checkpoint);
    }
  }
}

TEST(Tensors, ThatContradictTheConfigAreNamedWithBothFacts) {
  TinyCheckpoint checkpoint = tiny_checkpoint();
  checkpoint.set("num_attention_heads", "8");
  EXPECT_EQ(refusal(checkpoint),
            "corrupt: F: model.layers.0.self_attn.o_proj.weight: is [32, 64], but config.json asks "
            "for [32, 128] (hidden_size 32, num_attention_heads 8 x head_dim 16)");
  checkpoint = tiny_checkpoint();
  checkpoint.set("vocab_size", "50");
  EXPECT_EQ(refusal(checkpoint),
            "corrupt: F: lm_head.weight: is [48, 32], but config.json asks for [50, 32] "
            "(vocab_size 50, hidden_size 32)");
}

TEST(Tensors, OfAHeadMustAgreeWithItsTie) {
  TinyCheckpoint checkpoint = tiny_checkpoint();
  checkpoint.set("tie_word_embeddings", "true");
  EXPECT_EQ(refusal(checkpoint),
            "corrupt: F: lm_head.weight: is there, but config.json: tie_word_embeddings is true");
  checkpoint = tiny_checkpoint({.tied_head = true});
  checkpoint.unset("tie_word_embeddings");
  EXPECT_EQ(refusal(checkpoint),
            "not_found: F: lm_head.weight: this tensor is missing, but config.json: "
            "tie_word_embeddings is not true");
}

TEST(Tensors, OfDenseLayersMustAgreeWithTheConfig) {
  TinyCheckpoint checkpoint = tiny_checkpoint();
  checkpoint.set("mlp_only_layers", "[1]");
  EXPECT_EQ(refusal(checkpoint),
            "corrupt: F: model.layers.1.mlp.experts.0.down_proj.weight: is there, but config.json: "
            "makes layer 1 a dense one");
  checkpoint = tiny_checkpoint({.dense_layers = {1}});
  checkpoint.set("mlp_only_layers", "[]");
  EXPECT_EQ(refusal(checkpoint),
            "corrupt: F: model.layers.1.mlp.down_proj.weight: is there, but config.json: makes "
            "layer 1 one of experts");
  checkpoint.set("num_hidden_layers", "1");
  EXPECT_TRUE(
      refusal(checkpoint)
          .starts_with(
              "corrupt: F: model.layers.1.input_layernorm.weight: is there, but config.json: "
              "num_hidden_layers is 1"));
}

TEST(Tensors, OfBiasesAndSharedExpertsMustAgreeWithTheConfig) {
  TinyCheckpoint checkpoint = tiny_checkpoint({.attention_bias = true});
  checkpoint.set("attention_bias", "false");
  EXPECT_EQ(refusal(checkpoint),
            "corrupt: F: model.layers.0.self_attn.k_proj.bias: is there, but config.json: gives "
            "the attention no such bias");
  checkpoint = tiny_checkpoint({.model_type = "deepseek"});
  checkpoint.set("n_shared_experts", "3");
  EXPECT_TRUE(
      refusal(checkpoint)
          .starts_with(
              "corrupt: F: model.layers.0.mlp.shared_experts.down_proj.weight: is [32, 64], but "
              "config.json asks for [32, 96]"));
  checkpoint.set("n_shared_experts", "4000000000");
  EXPECT_EQ(refusal(checkpoint), "corrupt: F: config.json: n_shared_experts is 4000000000");
  TinyCheckpoint mixtral = tiny_checkpoint({.model_type = "mixtral"});
  mixtral.put("model.layers.0.self_attn.q_proj.bias", DType::kBF16, {64});
  EXPECT_TRUE(refusal(mixtral).starts_with(
      "unsupported: F: model.layers.0.self_attn.q_proj.bias: a mixtral model has no such tensor"));
}

TEST(Tensors, ThatNothingKnowsAreRefused) {
  TinyCheckpoint checkpoint = tiny_checkpoint();
  checkpoint.put("model.layers.0.self_attn.sinks", DType::kBF16, {4});
  EXPECT_EQ(refusal(checkpoint),
            "unsupported: F: model.layers.0.self_attn.sinks: a qwen3_moe model has no such tensor; "
            "leaving it out would change the numbers");
}

TEST(Tensors, OfRopeTablesAreLeftOut) {
  TinyCheckpoint checkpoint = tiny_checkpoint();
  checkpoint.put("model.layers.0.self_attn.rotary_emb.inv_freq", DType::kF32, {8});
  EXPECT_EQ(spec_of(checkpoint), spec_of(tiny_checkpoint()));
}

TEST(Tensors, OfOtherTypesAreRefused) {
  for (const DType dtype : {DType::kF64, DType::kI8, DType::kF8E5M2}) {
    TinyCheckpoint checkpoint = tiny_checkpoint();
    auto* tensor = checkpoint.find("model.layers.1.mlp.gate.weight");
    tensor->dtype = dtype;
    tensor->data.assign(8 * 32 * bytes_of(dtype), std::byte{0});
    EXPECT_EQ(refusal(checkpoint), "unsupported: F: model.layers.1.mlp.gate.weight: is " +
                                       std::string(name_of(dtype)) + ", this build computes with " +
                                       computed_formats());
  }
}

TEST(Tensors, OfSeveralShardsAreOneModel) {  // trap 32
  for (const unsigned shards : {1U, 3U, 7U}) {
    const auto model = read_back(tiny_checkpoint(), shards);
    ASSERT_TRUE(model) << model.error().message;
    EXPECT_EQ(model->spec, spec_of(tiny_checkpoint()));
  }
}

TEST(Tensors, OfAMissingShardStopTheReading) {  // trap 32
  const test::TempDir folder;
  tiny_checkpoint().write(folder.path(), 3);
  std::filesystem::remove(folder / "model-00002-of-00003.safetensors");
  const auto model = test::read_folder(folder.path());
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, Code::kNotFound);
  EXPECT_NE(model.error().message.find("model-00002-of-00003.safetensors"), std::string::npos)
      << model.error().message;
}

TEST(Tensors, MayLieBehindSymbolicLinks) {  // trap 32: the hub's cache
  const test::TempDir folder;
  tiny_checkpoint().write(folder / "blobs");
  std::filesystem::create_directory(folder / "snapshot");
  for (const char* name : {"config.json", "model.safetensors"})
    std::filesystem::create_symlink(folder / "blobs" / name, folder / "snapshot" / name);
  const auto model = test::read_folder(folder / "snapshot");
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->spec, spec_of(tiny_checkpoint()));
}

}  // namespace
}  // namespace smoe
