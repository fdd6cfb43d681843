// A model made from a GGUF file is the model made from the checkpoint that the file was made from.
#include <gtest/gtest.h>

#include <bit>

#include "families/gguf_checkpoint.h"
#include "formats/tiles.h"
#include "shatter/model_rows.h"
#include "shatter/shattering.h"
#include "support/gguf_checkpoint.h"

namespace smoe {
namespace {

using test::GgufStyle;
using test::GgufWriter;
using test::ModelRows;

namespace fs = std::filesystem;

fs::path source_dir() { return SMOE_SOURCE_DIR; }

// Every row of both models, bit for bit, and in the same formats.
void expect_same_rows(const ModelRows& wanted, const ModelRows& found, bool formats) {
  const ModelSpec& spec = wanted.source().spec;
  const auto compare = [&](Role role, uint32_t layer, uint32_t expert) {
    const auto a = wanted.in_model(role, layer, expert);
    const auto b = found.in_model(role, layer, expert);
    ASSERT_EQ(a.size(), b.size());
    if (formats) {
      ASSERT_EQ(wanted.format_in_model(role, layer), found.format_in_model(role, layer));
    }
    for (size_t i = 0; i < a.size(); ++i)
      ASSERT_EQ(std::bit_cast<uint32_t>(a[i]), std::bit_cast<uint32_t>(b[i]))
          << wanted.source().source_name(role, layer, expert) << " element " << i;
  };
  for (const TensorNeed& need : scout_needs(spec)) compare(need.role, need.layer, 0);
  for (uint32_t layer = 0; layer < spec.layers.size(); ++layer)
    for (uint32_t expert = 0; expert < spec.layers[layer].ffn.experts; ++expert)
      for (const Role role : {Role::kExpertGate, Role::kExpertUp, Role::kExpertDown})
        compare(role, layer, expert);
}

std::string stored_spec(const fs::path& model) {
  const auto scout = ScoutFile::open(model / "scout.safetensors");
  EXPECT_TRUE(scout) << scout.error().message;
  return scout ? scout->info().spec_json : "";
}

class GgufGolden : public testing::TestWithParam<const char*> {
 protected:
  fs::path checkpoint_ = source_dir() / GetParam();
  test::TempDir folder_;
  fs::path original_ = folder_ / "original";
};

// The same spec, the same formats, the same bits: so the same logits, too.
TEST_P(GgufGolden, GivesTheModelOfItsCheckpoint) {
  test::gguf_of(checkpoint_, {.small_as_f32 = false}).write(folder_ / "m.gguf");
  test::shatter_folder(checkpoint_, original_);
  test::shatter_folder(folder_ / "m.gguf", folder_ / "model", {.threads = 2});
  EXPECT_EQ(test::problems_in(folder_ / "model"), std::vector<std::string>());
  EXPECT_EQ(stored_spec(folder_ / "model"), stored_spec(original_));
  expect_same_rows(ModelRows(checkpoint_, original_),
                   ModelRows(folder_ / "m.gguf", folder_ / "model"), true);
}

TEST_P(GgufGolden, KeepsTheBitsOfF32AndOfNormsThatAreF32) {
  test::gguf_of(checkpoint_, {.weights = DType::kF32}).write(folder_ / "m.gguf");
  test::shatter_folder(checkpoint_, original_);
  test::shatter_folder(folder_ / "m.gguf", folder_ / "model");
  const ModelRows rows(folder_ / "m.gguf", folder_ / "model");
  EXPECT_EQ(rows.format_in_model(Role::kExpertUp, 2), Format::kF32);
  EXPECT_EQ(stored_spec(folder_ / "model"), stored_spec(original_));
  expect_same_rows(ModelRows(checkpoint_, original_), rows, false);
}

TEST_P(GgufGolden, TakesExpertsInTensorsOfTheirOwn) {
  test::gguf_of(checkpoint_, {.small_as_f32 = false, .fused_experts = false})
      .write(folder_ / "m.gguf");
  test::shatter_folder(checkpoint_, original_);
  test::shatter_folder(folder_ / "m.gguf", folder_ / "model");
  expect_same_rows(ModelRows(checkpoint_, original_),
                   ModelRows(folder_ / "m.gguf", folder_ / "model"), true);
}

// Rows in blocks: whatever the permutations move, no block may change.
TEST_P(GgufGolden, KeepsTheBlocksOfQ8) {
  const fs::path path = folder_ / "m.gguf";
  test::gguf_of(checkpoint_, {.weights = DType::kQ8_0}).write(path);
  test::shatter_folder(path, folder_ / "model");
  const ModelRows rows(path, folder_ / "model");
  EXPECT_EQ(rows.format_in_model(Role::kQuery, 0), Format::kQ8_0);
  EXPECT_EQ(rows.format_in_model(Role::kExpertUp, 2), Format::kQ8_0);
  test::shatter_folder(checkpoint_, original_, {.quant = Quant::kQuality});
  const ModelRows quantised(checkpoint_, original_);
  for (const Role role : {Role::kQuery, Role::kKey, Role::kExpertGate, Role::kExpertDown})
    EXPECT_EQ(rows.in_model(role, 2, 3), quantised.in_model(role, 2, 3));
}

INSTANTIATE_TEST_SUITE_P(Checkpoints, GgufGolden,
                         testing::Values("tests/data/golden/qwen3_moe",
                                         "tests/data/golden/qwen2_moe",
                                         "tests/data/golden/deepseek_moe_v1",
                                         "tests/data/golden/olmoe", "tests/data/golden/mixtral"),
                         [](const auto& name) { return fs::path(name.param).filename().string(); });

TEST(ShatterGguf, TakesAModelInSeveralParts) {
  const test::Workshop shop;
  const GgufWriter whole = test::gguf_of(shop.checkpoint, {.small_as_f32 = false});
  const fs::path first = test::write_parts(whole, shop.folder / "m", 3);
  test::shatter_folder(shop.checkpoint, shop.folder / "original");
  test::shatter_folder(shop.folder / "m-00002-of-00003.gguf", shop.model, {.threads = 2});
  expect_same_rows(ModelRows(shop.checkpoint, shop.folder / "original"),
                   ModelRows(first, shop.model), true);
}

TEST(ShatterGguf, GivesTheFilesOfAModelFolder) {
  const fs::path tales = source_dir() / "models/tales";
  const test::TempDir folder;
  GgufWriter file = test::gguf_of(tales, {.small_as_f32 = false});
  file.set_string("tokenizer.chat_template", "{{ messages }}");
  file.write(folder / "tales.gguf");
  const auto report = test::shatter_folder(folder / "tales.gguf", folder / "model");
  const auto names = test::names_of(test::snapshot(folder / "model"));
  for (const char* name : {"chat_template.jinja", "config.json", "scout.safetensors",
                           "tokenizer.json", "tokenizer_config.json"})
    EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
  EXPECT_EQ(test::content_of(folder / "model/chat_template.jinja"), "{{ messages }}");
  EXPECT_NE(test::content_of(folder / "model/tokenizer.json").find("\"NFC\""), std::string::npos);
  EXPECT_NE(test::content_of(folder / "model/config.json").find("\"model_type\": \"qwen3_moe\""),
            std::string::npos);
  ASSERT_FALSE(report.notes.empty());
  EXPECT_EQ(report.notes.front(),
            "a GGUF file carries no checksums: what is in it is taken as it is");
}

TEST(ShatterGguf, GoesOnWhereItStoppedAndKnowsAFinishedModel) {
  const test::Workshop shop;
  test::gguf_of(shop.checkpoint).write(shop.folder / "m.gguf");
  test::shatter_folder(shop.folder / "m.gguf", shop.model);
  const auto before = test::snapshot(shop.model);
  EXPECT_TRUE(test::shatter_folder(shop.folder / "m.gguf", shop.model).already_done);
  fs::remove(shop.model / "vault/layer-00002.safetensors");
  const auto resumed = test::shatter_folder(shop.folder / "m.gguf", shop.model);
  EXPECT_EQ(resumed.layers_resumed, 2U);
  EXPECT_TRUE(test::snapshot(shop.model) == before);
}

// Another download into the same folder is no change of this model.
TEST(ShatterGguf, CaresForItsOwnFilesOnly) {
  const test::Workshop shop;
  test::gguf_of(shop.checkpoint).write(shop.folder / "m.gguf");
  ShatterOptions options;
  options.progress = [&](const ShatterProgress&) {
    test::write_file(shop.folder / "other.gguf", "still arriving");
  };
  EXPECT_EQ(test::shatter_outcome(shop.folder / "m.gguf", shop.model, options), "done");
}

TEST(ShatterGguf, StopsWhenTheFileChangesUnderIt) {
  const test::Workshop shop;
  const fs::path path = shop.folder / "m.gguf";
  test::gguf_of(shop.checkpoint).write(path);
  ShatterOptions options;
  options.progress = [&](const ShatterProgress&) { fs::resize_file(path, 4096); };
  const std::string outcome = test::shatter_outcome(path, shop.model, options);
  EXPECT_NE(outcome.find("changed while it was being read"), std::string::npos) << outcome;
  EXPECT_FALSE(fs::exists(shop.model / "scout.safetensors"));
}

// Traps 35: the first layer of experts has one weight that is no number.
TEST(ShatterGguf, RefusesWeightsThatAreNoNumbersByName) {
  const test::Workshop shop;
  for (const DType dtype : {DType::kF32, DType::kQ8_0}) {
    GgufWriter file = test::gguf_of(shop.checkpoint, {.weights = dtype});
    GgufWriter::Tensor* experts = file.find("blk.0.ffn_up_exps.weight");
    const size_t of_expert = experts->data.size() / 4;
    // An F32 weight, or the fp16 scale of a block, becomes NaN.
    experts->data.replace(2 * of_expert, 4,
                          dtype == DType::kF32 ? test::le32(0x7fc00000) : test::le32(0x7e00));
    file.write(shop.folder / "nan.gguf");
    const std::string outcome = test::shatter_outcome(shop.folder / "nan.gguf", shop.model);
    EXPECT_EQ(outcome,
              "numeric_error: model.layers.0.mlp.experts.2.up_proj.weight: row 0, column 0: the "
              "weight is NaN");
    fs::remove_all(shop.model);
  }
}

TEST(ShatterGguf, KeepsBlocksOfEveryType) {
  const test::Workshop shop({.layers = 1, .width = 256, .experts = 2, .expert_width = 256});
  for (const DType dtype : {DType::kQ4_0, DType::kIQ4_NL, DType::kMXFP4, DType::kQ3_K, DType::kQ4_K,
                            DType::kQ5_K, DType::kQ6_K}) {
    test::gguf_of(shop.checkpoint, {.weights = dtype}).write(shop.folder / "m.gguf");
    test::shatter_folder(shop.folder / "m.gguf", shop.model);
    const ModelRows rows(shop.folder / "m.gguf", shop.model);
    for (const Role role : {Role::kQuery, Role::kExpertGate, Role::kExpertDown}) {
      EXPECT_EQ(rows.format_in_model(role, 0), exact_format(dtype)) << name_of(dtype);
      EXPECT_EQ(rows.in_model(role, 0, 1), rows.in_checkpoint(role, 0, 1)) << name_of(dtype);
    }
    fs::remove_all(shop.model);
  }
}

}  // namespace
}  // namespace smoe
