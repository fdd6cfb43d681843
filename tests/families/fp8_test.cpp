// Trap 33: block-scaled FP8 weights and what can be wrong with their scales.
#include <gtest/gtest.h>

#include "families/reading.h"

namespace smoe {
namespace {

using test::read_back;
using test::refusal;
using test::spec_of;
using test::tiny_checkpoint;
using test::TinyCheckpoint;
using test::TinyShape;

// 200 columns and 144 rows: the last block is partial on both sides.
TinyShape fp8() {
  return {.width = 200, .head_dim = 32, .expert_width = 144, .weights = DType::kF8E4M3};
}

constexpr const char* kWeight = "model.layers.0.mlp.experts.0.up_proj.weight";
constexpr const char* kScale = "model.layers.0.mlp.experts.0.up_proj.weight_scale_inv";

TEST(Fp8, HasAScaleForEachBlockPartialOnesIncluded) {
  TinyCheckpoint checkpoint = tiny_checkpoint(fp8());
  EXPECT_EQ(checkpoint.find(kScale)->shape, (std::vector<uint64_t>{2, 2}));
  EXPECT_EQ(spec_of(checkpoint).layers[0].ffn.width, 144U);
}

TEST(Fp8, MayScaleByF32Bf16OrPowersOfTwo) {
  for (const DType scales : {DType::kF32, DType::kBF16, DType::kF8E8M0}) {
    TinyShape shape = fp8();
    shape.scales = scales;
    EXPECT_TRUE(read_back(tiny_checkpoint(shape))) << name_of(scales);
  }
  TinyCheckpoint checkpoint = tiny_checkpoint(fp8());
  checkpoint.put(kScale, DType::kF16, {2, 2});
  EXPECT_EQ(refusal(checkpoint), std::string("unsupported: F: ") + kScale +
                                     ": is F16, this build reads F32, BF16 and F8_E8M0 scales");
}

TEST(Fp8, MayKeepItsScalesInAnotherShard) {
  for (const unsigned shards : {2U, 5U})
    EXPECT_TRUE(read_back(tiny_checkpoint(fp8()), shards)) << shards;
}

TEST(Fp8, WithoutAScaleIsRefused) {
  TinyCheckpoint checkpoint = tiny_checkpoint(fp8());
  checkpoint.remove(kScale);
  EXPECT_EQ(refusal(checkpoint), std::string("not_found: F: ") + kWeight +
                                     ": is F8_E4M3, but its scales " + kScale + " are missing");
  // Under another name it is no scale either.
  checkpoint.put("model.layers.0.mlp.experts.0.up_proj.weight_scale", DType::kF32, {2, 2});
  EXPECT_TRUE(refusal(checkpoint).starts_with("not_found: F: ")) << refusal(checkpoint);
}

TEST(Fp8, WithScalesOfAnotherShapeIsRefused) {
  TinyCheckpoint checkpoint = tiny_checkpoint(fp8());
  checkpoint.put(kScale, DType::kF32, {1, 2});
  EXPECT_EQ(refusal(checkpoint),
            std::string("corrupt: F: ") + kScale +
                ": is [1, 2], but blocks of 128x128 of a [144, 200] weight need [2, 2]");
}

TEST(Fp8, NeedsAConfigThatDescribesIt) {
  TinyCheckpoint checkpoint = tiny_checkpoint(fp8());
  checkpoint.unset("quantization_config");
  EXPECT_NE(refusal(checkpoint).find("is F8_E4M3, but config.json has no quantization_config"),
            std::string::npos)
      << refusal(checkpoint);
  for (const auto& [json, message] :
       {std::pair{R"({"quant_method": "fp8"})",
                  "quantization_config.weight_block_size is not [128, 128]"},
        std::pair{R"({"quant_method": "fp8", "weight_block_size": null})",
                  "quantization_config.weight_block_size is null, this build knows 128"},
        std::pair{R"({"quant_method": "fp8", "weight_block_size": [128]})",
                  "quantization_config.weight_block_size is not [128, 128]"},
        std::pair{R"({"quant_method": "fp8", "weight_block_size": [64, 128]})",
                  "quantization_config.weight_block_size is 64, this build knows 128"},
        std::pair{R"({"weight_block_size": [128, 128]})",
                  "quantization_config has no quant_method"},
        std::pair{R"({"quant_method": "fp8", "fmt": "e5m2", "weight_block_size": [128, 128]})",
                  "quantization_config.fmt is \"e5m2\""},
        std::pair{R"(7)", "quantization_config is 7"}}) {
    checkpoint.set("quantization_config", json);
    EXPECT_NE(refusal(checkpoint).find(message), std::string::npos) << refusal(checkpoint);
  }
}

TEST(Fp8, MayLeaveModulesUnconverted) {  // modules_to_not_convert: the types tell which
  TinyCheckpoint checkpoint = tiny_checkpoint(fp8());
  checkpoint.put(kWeight, DType::kBF16, {144, 200});
  checkpoint.remove(kScale);
  EXPECT_TRUE(read_back(checkpoint));
}

TEST(Fp8, ScaleWithoutAnFp8WeightIsRefused) {
  TinyCheckpoint checkpoint = tiny_checkpoint(fp8());
  checkpoint.put(kWeight, DType::kBF16, {144, 200});
  EXPECT_EQ(refusal(checkpoint), std::string("corrupt: F: ") + kScale + ": scales " + kWeight +
                                     ", which is no F8_E4M3 tensor");
}

TEST(Fp8, IsForMatricesOnly) {
  TinyCheckpoint checkpoint = tiny_checkpoint(fp8());
  checkpoint.put("model.norm.weight", DType::kF8E4M3, {200});
  EXPECT_TRUE(refusal(checkpoint).starts_with("unsupported: F: model.norm.weight: is F8_E4M3"));
}

}  // namespace
}  // namespace smoe
