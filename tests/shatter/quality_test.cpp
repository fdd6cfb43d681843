// --quant quality: Q8_0 where it fits, the checkpoint's own type elsewhere.
#include <gtest/gtest.h>

#include <cmath>

#include "shatter/model_rows.h"
#include "shatter/shattering.h"

namespace smoe {
namespace {

using test::ModelRows;

// By construction of Q8_0: half a step of 1/127 of the block's largest weight, and the rounding of
// the scale to fp16.
void expect_close(const ModelRows& rows, Role role, uint32_t layer, uint32_t expert = 0) {
  const std::vector<float> wanted = rows.in_checkpoint(role, layer, expert);
  const std::vector<float> found = rows.in_model(role, layer, expert);
  ASSERT_EQ(found.size(), wanted.size());
  float largest = 0;
  for (const float value : wanted) largest = std::max(largest, std::abs(value));
  for (size_t i = 0; i < wanted.size(); ++i)
    ASSERT_NEAR(found[i], wanted[i], largest * 0.0045F) << i;
}

TEST(Quality, StoresMatricesInQ8AndKeepsRoutersAndNorms) {
  const test::Workshop shop({.model_type = "qwen2_moe",
                             .width = 64,
                             .experts = 4,
                             .expert_width = 32,
                             .shared_width = 96});
  const auto report = test::shatter_folder(shop.checkpoint, shop.model, {.quant = Quant::kQuality});
  EXPECT_EQ(report.notes, std::vector<std::string>());
  EXPECT_EQ(test::problems_in(shop.model), std::vector<std::string>());
  const ModelRows rows(shop.checkpoint, shop.model);
  for (const Role role : {Role::kEmbedding, Role::kHead, Role::kQuery, Role::kOutput,
                          Role::kSharedDown, Role::kExpertGate, Role::kExpertDown}) {
    EXPECT_EQ(rows.format_in_model(role, 0), Format::kQ8_0);
    expect_close(rows, role, 0);
  }
  for (const Role role : {Role::kRouter, Role::kSharedRouter}) {
    EXPECT_EQ(rows.format_in_model(role, 1), Format::kBF16);
    EXPECT_EQ(rows.in_model(role, 1), rows.in_checkpoint(role, 1));
  }
  EXPECT_EQ(rows.in_model(Role::kFinalNorm, 0), rows.in_checkpoint(Role::kFinalNorm, 0));
}

TEST(Quality, SaysWhichMatricesKeepTheirType) {
  const test::Workshop shop({.layers = 1, .width = 64, .experts = 4, .expert_width = 40});
  const auto report = test::shatter_folder(shop.checkpoint, shop.model, {.quant = Quant::kQuality});
  EXPECT_EQ(report.notes, std::vector<std::string>{
                              "model.layers.0.mlp.experts.0.down_proj.weight stays bf16: its "
                              "rows of 40 do not fill blocks of 32"});
  const ModelRows rows(shop.checkpoint, shop.model);
  EXPECT_EQ(rows.format_in_model(Role::kExpertUp, 0), Format::kQ8_0);
  EXPECT_EQ(rows.format_in_model(Role::kExpertDown, 0), Format::kBF16);
  EXPECT_EQ(rows.in_model(Role::kExpertDown, 0, 3), rows.in_checkpoint(Role::kExpertDown, 0, 3));
}

TEST(Quality, RequantizesFp8) {
  const test::Workshop shop(
      {.layers = 1, .width = 160, .experts = 2, .expert_width = 96, .weights = DType::kF8E4M3});
  test::shatter_folder(shop.checkpoint, shop.model, {.quant = Quant::kQuality});
  const ModelRows rows(shop.checkpoint, shop.model);
  EXPECT_EQ(rows.format_in_model(Role::kExpertUp, 0), Format::kQ8_0);
  expect_close(rows, Role::kExpertUp, 0, 1);
}

TEST(Exact, StoresExpertsOfDifferentTypesInOneThatHoldsThemAll) {
  const test::Workshop shop;
  test::TinyCheckpoint source = test::tiny_checkpoint({.layers = 1, .experts = 3});
  source.put("model.layers.0.mlp.experts.1.up_proj.weight", DType::kF16, {32, 32});
  source.write(shop.folder / "mixed");
  const auto report = test::shatter_folder(shop.folder / "mixed", shop.model);
  EXPECT_EQ(report.notes[0],
            "model.layers.0.mlp.experts.0.up_proj.weight and its siblings differ in type: stored "
            "as f32");
  const ModelRows rows(shop.folder / "mixed", shop.model);
  EXPECT_EQ(rows.format_in_model(Role::kExpertUp, 0), Format::kF32);
  for (const uint32_t expert : {0U, 1U, 2U})
    EXPECT_EQ(rows.in_model(Role::kExpertUp, 0, expert),
              rows.in_checkpoint(Role::kExpertUp, 0, expert));
}

TEST(Formats, AreChosenForExpertsAndScoutApart) {
  const test::Workshop shop({.layers = 1, .width = 64, .experts = 4, .expert_width = 32});
  test::shatter_folder(shop.checkpoint, shop.folder / "experts", {.experts = Format::kQ8_0});
  const ModelRows experts(shop.checkpoint, shop.folder / "experts");
  EXPECT_EQ(experts.format_in_model(Role::kExpertUp, 0), Format::kQ8_0);
  EXPECT_EQ(experts.format_in_model(Role::kQuery, 0), Format::kBF16);
  test::shatter_folder(shop.checkpoint, shop.folder / "scout", {.scout = Format::kQ8_0});
  const ModelRows scout(shop.checkpoint, shop.folder / "scout");
  EXPECT_EQ(scout.format_in_model(Role::kExpertUp, 0), Format::kBF16);
  EXPECT_EQ(scout.format_in_model(Role::kQuery, 0), Format::kQ8_0);
  EXPECT_EQ(scout.format_in_model(Role::kRouter, 0), Format::kBF16);
}

TEST(Formats, AreRefusedWithTheListWhereNothingMakesThem) {
  const test::Workshop shop;
  EXPECT_EQ(storable_format("q8_0").value(), Format::kQ8_0);
  for (const char* name : {"f16", "f8_e4m3", "q9"}) {
    const auto format = storable_format(name);
    ASSERT_FALSE(format) << name;
    EXPECT_EQ(format.error().code, Code::kUsage);
    EXPECT_NE(format.error().message.find("this build makes "), std::string::npos);
    EXPECT_NE(format.error().message.find("q8_0"), std::string::npos);
  }
  EXPECT_EQ(test::shatter_outcome(shop.checkpoint, shop.model, {.experts = Format::kF16}),
            "usage: " + storable_format("f16").error().message);
}

TEST(Calibration, IsAskedForEveryMatrixAndMakesAnotherModel) {
  const test::Workshop shop({.layers = 1, .width = 64, .experts = 2, .expert_width = 32});
  std::vector<float> ones(64, 1.0F);
  size_t asked = 0;
  ShatterOptions options{.quant = Quant::kQuality};
  options.calibration.importance = [&](Role role, uint32_t layer, uint32_t expert) {
    EXPECT_EQ(layer, 0U);
    EXPECT_LT(expert, 2U);
    ++asked;
    const bool narrow = role == Role::kExpertDown;
    return std::span<const float>(ones).first(narrow ? 32 : 64);
  };
  options.calibration.checksum = 1;
  test::shatter_folder(shop.checkpoint, shop.model, options);
  EXPECT_EQ(asked, 2U + 4 + 1 + 2 * 3);  // embedding and head, attention, router, experts
  EXPECT_TRUE(test::shatter_folder(shop.checkpoint, shop.model, options).already_done);
  options.calibration.checksum = 2;
  EXPECT_NE(test::shatter_outcome(shop.checkpoint, shop.model, options).find("of other options"),
            std::string::npos);
}

TEST(Quant, HasAName) {
  EXPECT_EQ(quant_named("exact"), Quant::kExact);
  EXPECT_EQ(quant_named("quality"), Quant::kQuality);
  EXPECT_EQ(quant_named("q4"), std::nullopt);
}

}  // namespace
}  // namespace smoe
