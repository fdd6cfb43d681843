// What a config says, leaves out, or says twice.
#include <gtest/gtest.h>

#include <cmath>

#include "families/reading.h"

namespace smoe {
namespace {

using test::refusal;
using test::spec_of;
using test::tiny_checkpoint;
using test::TinyCheckpoint;
using test::TinyShape;

TinyCheckpoint with(std::string_view key, std::string_view json, TinyShape shape = {}) {
  TinyCheckpoint checkpoint = tiny_checkpoint(shape);
  checkpoint.set(key, json);
  return checkpoint;
}

TinyCheckpoint without(std::string_view key, TinyShape shape = {}) {
  TinyCheckpoint checkpoint = tiny_checkpoint(shape);
  checkpoint.unset(key);
  return checkpoint;
}

TEST(Config, OfAnUnknownModelTypeIsRefusedWithTheListThatWorks) {
  EXPECT_EQ(refusal(with("model_type", "\"llama\"")),
            "unsupported: F: config.json: model_type \"llama\" is not supported, this build knows "
            "deepseek, mixtral, olmoe, qwen2_moe, qwen3_moe");
  EXPECT_EQ(refusal(without("model_type")), "corrupt: F: config.json: has no model_type");
  EXPECT_EQ(refusal(with("model_type", "7")), "corrupt: F: config.json: has no model_type");
}

TEST(Config, WithAnUnknownRuleIsRefusedByItsName) {
  EXPECT_EQ(refusal(with("hidden_act", "\"gelu\"")),
            "unsupported: F: config.json: hidden_act is \"gelu\", this build knows \"silu\", "
            "\"swish\"");
  EXPECT_EQ(refusal(with("use_sliding_window", "true")),
            "unsupported: F: config.json: use_sliding_window is true, this build knows false, "
            "null");
  EXPECT_EQ(refusal(with("layer_types", R"(["full_attention", "sliding_attention"])")),
            "unsupported: F: config.json: layer_types is \"sliding_attention\", this build knows "
            "\"full_attention\", [], null");
  EXPECT_EQ(refusal(with("sliding_window", "4096", {.model_type = "mixtral"})),
            "unsupported: F: config.json: sliding_window is 4096, this build knows null");
  EXPECT_EQ(refusal(with("clip_qkv", "8.0", {.model_type = "olmoe"})),
            "unsupported: F: config.json: clip_qkv is 8.0, this build knows null");
  EXPECT_EQ(refusal(with("scoring_func", "\"sigmoid\"", {.model_type = "deepseek"})),
            "unsupported: F: config.json: scoring_func is \"sigmoid\", this build knows "
            "\"softmax\"");
  EXPECT_EQ(refusal(with("partial_rotary_factor", "0.5")),
            "unsupported: F: config.json: partial_rotary_factor is 0.5, this build knows 1, null");
  EXPECT_EQ(refusal(with("quantization_config", R"({"quant_method": "gptq", "bits": 4})")),
            "unsupported: F: config.json: quantization_config.quant_method is \"gptq\", this build "
            "knows \"fp8\"");
}

TEST(Config, MayNameASlidingWindowThatItDoesNotUse) {
  EXPECT_EQ(spec_of(with("sliding_window", "32768")), spec_of(tiny_checkpoint()));
}

// Trap 26: whether weights are renormalised is the config's to say, and no shape tells it.
TEST(Config, RenormalisesOnlyWhereItSaysSo) {
  for (const char* model_type : {"qwen3_moe", "qwen2_moe", "olmoe", "deepseek"}) {
    const auto renormalises = [&](const TinyCheckpoint& checkpoint) {
      const ModelSpec spec = spec_of(checkpoint);
      return spec.layers.empty() || spec.layers.back().ffn.router.renormalize;
    };
    const TinyShape shape{.model_type = model_type};
    EXPECT_TRUE(renormalises(with("norm_topk_prob", "true", shape))) << model_type;
    EXPECT_FALSE(renormalises(with("norm_topk_prob", "false", shape))) << model_type;
    EXPECT_FALSE(renormalises(without("norm_topk_prob", shape))) << model_type;
    EXPECT_FALSE(renormalises(with("norm_topk_prob", "null", shape))) << model_type;
  }
  EXPECT_EQ(refusal(with("norm_topk_prob", "1")),
            "corrupt: F: config.json: norm_topk_prob is 1, must be true or false");
}

TEST(Config, TakesOneActiveExpertOrAllOfThem) {  // trap 26
  EXPECT_EQ(spec_of(with("num_experts_per_tok", "1")).layers[0].ffn.router.active_experts, 1U);
  EXPECT_EQ(spec_of(with("num_experts_per_tok", "8")).layers[0].ffn.router.active_experts, 8U);
  EXPECT_EQ(refusal(with("num_experts_per_tok", "9")),
            "corrupt: F: config.json: layer 0: router.active_experts is 9, must be 1 to 8");
}

// Trap 28: head_dim stated, null or missing; where it is missing the shapes prove the quotient.
TEST(Config, MayStateTheHeadSizeOrLeaveIt) {
  EXPECT_EQ(spec_of(tiny_checkpoint()).layers[0].attention.head_dim, 16U);
  const TinyShape quotient{.head_dim = 8};
  EXPECT_EQ(spec_of(without("head_dim", quotient)).layers[0].attention.head_dim, 8U);
  EXPECT_EQ(spec_of(with("head_dim", "null", quotient)).layers[0].attention.head_dim, 8U);
  EXPECT_EQ(refusal(without("head_dim")),
            "corrupt: F: model.layers.0.self_attn.k_norm.weight: is [16], but config.json asks for "
            "[8] (head_dim 8)");
  EXPECT_EQ(refusal(with("head_dim", "32")),
            "corrupt: F: model.layers.0.self_attn.k_norm.weight: is [16], but config.json asks for "
            "[32] (head_dim 32)");
}

// Trap 28: the number of experts under each of its names, or left to the router's rows.
TEST(Config, CountsTheExpertsUnderAnyOfTheirNames) {
  for (const char* key : {"num_experts", "num_local_experts", "n_routed_experts"}) {
    TinyCheckpoint checkpoint = without("num_experts");
    checkpoint.set(key, "8");
    EXPECT_EQ(spec_of(checkpoint).layers[0].ffn.experts, 8U) << key;
    checkpoint.set(key, "7");
    EXPECT_EQ(refusal(checkpoint),
              "corrupt: F: model.layers.0.mlp.experts.7.down_proj.weight: is there, but "
              "config.json: num_experts is 7");
    checkpoint.set(key, "9");
    EXPECT_EQ(refusal(checkpoint),
              "corrupt: F: model.layers.0.mlp.gate.weight: is [8, 32], but config.json asks for "
              "[9, 32] (num_experts 9, hidden_size 32)");
  }
  EXPECT_EQ(spec_of(without("num_experts")).layers[0].ffn.experts, 8U);
  TinyCheckpoint twice = tiny_checkpoint();
  twice.set("num_local_experts", "8");
  EXPECT_EQ(spec_of(twice), spec_of(tiny_checkpoint()));
  twice.set("num_local_experts", "16");
  EXPECT_EQ(refusal(twice), "corrupt: F: config.json: num_experts and num_local_experts disagree");
}

TEST(Config, LeavesToTheShapesWhatTheyTell) {
  for (const Family* family : known_families()) {
    const TinyShape shape{.model_type = std::string(family->model_type)};
    const ModelSpec stated = spec_of(tiny_checkpoint(shape));
    for (const char* key :
         {"hidden_size", "vocab_size", "num_key_value_heads", "moe_intermediate_size",
          "intermediate_size", "shared_expert_intermediate_size"})
      EXPECT_EQ(spec_of(without(key, shape)), stated) << family->model_type << " " << key;
  }
}

// Trap 28: what neither shapes nor a config class tell must not be guessed.
TEST(Config, MustStateWhatNothingElseTells) {
  for (const char* key : {"num_hidden_layers", "num_attention_heads", "num_experts_per_tok",
                          "rms_norm_eps", "max_position_embeddings"})
    EXPECT_EQ(refusal(without(key)), std::string("corrupt: F: config.json: ") + key +
                                         " is missing, and the tensors cannot tell it");
  EXPECT_EQ(spec_of(without("rms_norm_eps", {.model_type = "deepseek"})).norm_epsilon, 1e-6F);
}

TEST(Config, IsRefusedWhereANumberIsNone) {
  EXPECT_EQ(refusal(with("hidden_size", "-1")),
            "corrupt: F: config.json: hidden_size is -1, must be a whole number from 1 to "
            "4294967295");
  for (const char* json : {"0", "1.5", "\"32\"", "[32]", "{}", "true", "4294967296"})
    EXPECT_TRUE(
        refusal(with("hidden_size", json)).starts_with("corrupt: F: config.json: hidden_size is "))
        << json;
  for (const char* json : {"\"1e-6\"", "true", "[]"})
    EXPECT_TRUE(refusal(with("rms_norm_eps", json))
                    .starts_with("corrupt: F: config.json: rms_norm_eps is "))
        << json;
  for (const char* json : {"0", "-1e-6", "1e300"})
    EXPECT_TRUE(refusal(with("rms_norm_eps", json))
                    .starts_with("corrupt: F: config.json: model: norm_epsilon is "))
        << json;
  EXPECT_EQ(refusal(with("num_hidden_layers", "4000000000")),
            "corrupt: F: config.json: 4000000000 layers, at most 4096");
  EXPECT_EQ(refusal(with("mlp_only_layers", "3")),
            "corrupt: F: config.json: mlp_only_layers is 3, must be an array of layers");
  EXPECT_EQ(refusal(with("num_attention_heads", "5", {.model_type = "olmoe"})),
            "corrupt: F: config.json: hidden_size 32 is no multiple of num_attention_heads 5, and "
            "head_dim is not stated");
}

// Trap 30: rope_theta in both places, types under both names, and nothing silent.
TEST(Config, ReadsRopeInBothSpellings) {
  const TinyShape newer{.newer_spelling = true};
  EXPECT_EQ(
      spec_of(with("rope_parameters", R"({"rope_theta": 5e5, "rope_type": "default"})", newer))
          .layers[0]
          .rope.theta,
      5e5);
  EXPECT_EQ(spec_of(with("rope_parameters", R"({"rope_theta": 5e5, "type": "default"})", newer))
                .layers[0]
                .rope.theta,
            5e5);
  EXPECT_EQ(spec_of(with("rope_scaling", R"({"type": "default"})")).layers[0].rope.theta, 1e4);
  EXPECT_EQ(spec_of(with("rope_scaling", R"({"rope_type": "default"})")).layers[0].rope.theta, 1e4);
  TinyCheckpoint both = tiny_checkpoint();
  both.set("rope_parameters", R"({"rope_theta": 10000, "rope_type": "default"})");
  EXPECT_EQ(spec_of(both).layers[0].rope.theta, 1e4);
  both.set("rope_parameters", R"({"rope_theta": 20000, "rope_type": "default"})");
  EXPECT_EQ(refusal(both),
            "corrupt: F: config.json: rope_theta 10000 and rope_parameters.rope_theta 20000 "
            "disagree");
}

TEST(Config, NeverGuessesRope) {  // trap 30
  const TinyShape newer{.newer_spelling = true};
  EXPECT_EQ(refusal(without("rope_theta")),
            "corrupt: F: config.json: neither rope_theta nor rope_parameters.rope_theta is there, "
            "and the tensors cannot tell it");
  EXPECT_EQ(refusal(without("rope_parameters", newer)), refusal(without("rope_theta")));
  EXPECT_EQ(refusal(with("rope_parameters", R"({"rope_type": "default"})", newer)),
            refusal(without("rope_theta")));
  EXPECT_EQ(refusal(with("rope_theta", "null")), refusal(without("rope_theta")));
  EXPECT_EQ(refusal(with("rope_scaling", R"({"type": "yarn", "factor": 4.0})")),
            "unsupported: F: config.json: rope_scaling.type is \"yarn\", this build knows "
            "\"default\"");
  EXPECT_EQ(refusal(with("rope_parameters",
                         R"({"rope_theta": 1e4, "rope_type": "yarn", "factor": 4.0})", newer)),
            "unsupported: F: config.json: rope_parameters.rope_type is \"yarn\", this build knows "
            "\"default\"");
  EXPECT_EQ(refusal(with("rope_scaling", R"({"factor": 4.0})")),
            "unsupported: F: config.json: rope_scaling.factor is 4.0, this build knows plain RoPE "
            "only");
  EXPECT_EQ(
      refusal(with("rope_parameters",
                   R"({"full_attention": {"rope_theta": 1e4, "rope_type": "default"}})", newer)),
      "unsupported: F: config.json: rope_parameters.full_attention is an object, this build "
      "knows plain RoPE only");
  EXPECT_EQ(refusal(with("rope_theta", "0")),
            "corrupt: F: config.json: layer 0: rope.theta is 0, must be a positive number");
}

TEST(Config, GathersTheTokensThatEndAText) {
  TinyCheckpoint checkpoint = tiny_checkpoint();
  checkpoint.set("eos_token_id", "[3, 1]");
  checkpoint.files["generation_config.json"] = R"({"bos_token_id": 5, "eos_token_id": [1, 7]})";
  EXPECT_EQ(spec_of(checkpoint).eos, (std::vector<uint32_t>{3, 1, 7}));
  EXPECT_EQ(spec_of(checkpoint).bos, (std::vector<uint32_t>{0, 5}));
  checkpoint.set("bos_token_id", "null");
  checkpoint.files["generation_config.json"] = "{}";
  EXPECT_EQ(spec_of(checkpoint).bos, std::vector<uint32_t>());
}

TEST(Config, MustNameTokensOfTheVocabulary) {
  EXPECT_EQ(refusal(with("eos_token_id", "48")),
            "corrupt: F: config.json: model: eos token 48 lies outside the vocabulary of 48");
  EXPECT_EQ(refusal(with("eos_token_id", "[[1]]")),
            "corrupt: F: config.json: eos_token_id holds an array of 1");
  TinyCheckpoint checkpoint = tiny_checkpoint();
  checkpoint.files["generation_config.json"] = "{";
  EXPECT_TRUE(refusal(checkpoint).starts_with("corrupt: F: generation_config.json: "));
  checkpoint.files["generation_config.json"] = "[]";
  EXPECT_EQ(refusal(checkpoint), "corrupt: F: generation_config.json: must be an object");
}

TEST(Config, ScalesTheRouterWhereItSaysSo) {
  EXPECT_EQ(spec_of(with("routed_scaling_factor", "2.5", {.model_type = "deepseek"}))
                .layers[1]
                .ffn.router.scale,
            2.5F);
}

}  // namespace
}  // namespace smoe
