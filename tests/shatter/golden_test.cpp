// Every checkpoint of the repository becomes a model that verifies and holds the same bits.
#include <gtest/gtest.h>

#include <bit>

#include "shatter/model_rows.h"
#include "shatter/shattering.h"

namespace smoe {
namespace {

using test::ModelRows;

void expect_same_bits(const ModelRows& rows, Role role, uint32_t layer, uint32_t expert) {
  const std::vector<float> wanted = rows.in_checkpoint(role, layer, expert);
  const std::vector<float> found = rows.in_model(role, layer, expert);
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i)
    ASSERT_EQ(std::bit_cast<uint32_t>(found[i]), std::bit_cast<uint32_t>(wanted[i]))
        << rows.source().source_name(role, layer, expert) << " element " << i;
}

void expect_exact(const std::filesystem::path& checkpoint, const std::filesystem::path& model) {
  const ModelRows rows(checkpoint, model);
  const ModelSpec& spec = rows.source().spec;
  const auto stored = ModelSpec::from_json(rows.scout().info().spec_json);
  ASSERT_TRUE(stored) << stored.error().message;
  EXPECT_EQ(*stored, spec);
  for (const TensorNeed& need : scout_needs(spec)) expect_same_bits(rows, need.role, need.layer, 0);
  for (uint32_t layer = 0; layer < spec.layers.size(); ++layer)
    for (uint32_t expert = 0; expert < spec.layers[layer].ffn.experts; ++expert)
      for (const Role role : {Role::kExpertGate, Role::kExpertUp, Role::kExpertDown})
        expect_same_bits(rows, role, layer, expert);
}

class Golden : public testing::TestWithParam<const char*> {
 protected:
  std::filesystem::path checkpoint_ = std::filesystem::path(SMOE_SOURCE_DIR) / GetParam();
  test::TempDir folder_;
};

TEST_P(Golden, KeepsEveryBitAndVerifies) {
  const auto report = test::shatter_folder(checkpoint_, folder_ / "model", {.threads = 2});
  EXPECT_FALSE(report.already_done);
  EXPECT_GT(report.bytes_read, 0U);
  EXPECT_EQ(test::problems_in(folder_ / "model"), std::vector<std::string>());
  expect_exact(checkpoint_, folder_ / "model");
}

TEST_P(Golden, GivesTheSameBytesForEveryNumberOfThreads) {
  test::shatter_folder(checkpoint_, folder_ / "one", {.threads = 1});
  test::shatter_folder(checkpoint_, folder_ / "three", {.threads = 3});
  EXPECT_TRUE(test::snapshot(folder_ / "one") == test::snapshot(folder_ / "three"));
}

INSTANTIATE_TEST_SUITE_P(
    Checkpoints, Golden,
    testing::Values("tests/data/golden/qwen3_moe", "tests/data/golden/qwen3_moe_mixed",
                    "tests/data/golden/qwen3_moe_fp8", "tests/data/golden/qwen2_moe",
                    "tests/data/golden/deepseek_moe_v1", "tests/data/golden/olmoe",
                    "tests/data/golden/mixtral", "models/tales"),
    [](const auto& name) { return std::filesystem::path(name.param).filename().string(); });

TEST(Shatter, KeepsEveryBitOfEveryFloatType) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kF8E4M3})
    for (const DType scales : {DType::kF32, DType::kBF16, DType::kF8E8M0}) {
      if (dtype != DType::kF8E4M3 && scales != DType::kF32) continue;
      // Odd sizes: partial tiles, units and scale blocks; 200 x 144 has partial blocks both ways.
      const test::Workshop shop({.layers = 1,
                                 .width = 200,
                                 .vocabulary = 37,
                                 .experts = 3,
                                 .expert_width = 144,
                                 .weights = dtype,
                                 .scales = scales});
      test::shatter_folder(shop.checkpoint, shop.model, {.threads = 2});
      expect_exact(shop.checkpoint, shop.model);
    }
}

// A layer's tensors dealt out over shards arrive in the worst order: all gates, all ups, all downs,
// and scales elsewhere.
TEST(Shatter, TakesTensorsInAnyOrder) {
  const test::TinyShape shape = {
      .layers = 3, .width = 160, .experts = 7, .dense_layers = {1}, .weights = DType::kF8E4M3};
  const test::Workshop in_order(shape);
  test::shatter_folder(in_order.checkpoint, in_order.model);
  const auto without_scout = [](test::Snapshot files) {
    files.erase("scout.safetensors");
    return files;
  };
  for (const unsigned shards : {2U, 3U, 5U, 11U}) {
    const test::Workshop dealt(shape, shards);
    test::shatter_folder(dealt.checkpoint, dealt.model, {.threads = 2});
    EXPECT_EQ(test::problems_in(dealt.model), std::vector<std::string>());
    expect_exact(dealt.checkpoint, dealt.model);
    EXPECT_EQ(test::names_of(without_scout(test::snapshot(dealt.model))),
              test::names_of(without_scout(test::snapshot(in_order.model))));
  }
}

TEST(Shatter, CopiesTheFilesThatBelongToAModel) {
  const test::Workshop shop;
  test::write_file(shop.checkpoint / "chat_template.jinja", "{{ messages }}");
  test::write_file(shop.checkpoint / "README.md", "not part of a model");
  test::shatter_folder(shop.checkpoint, shop.model);
  for (const char* name :
       {"config.json", "tokenizer.json", "generation_config.json", "chat_template.jinja"})
    EXPECT_EQ(test::content_of(shop.model / name), test::content_of(shop.checkpoint / name))
        << name;
  EXPECT_EQ(
      test::names_of(test::snapshot(shop.model)),
      (std::vector<std::string>{"chat_template.jinja", "config.json", "generation_config.json",
                                "scout.safetensors", "tokenizer.json", "vault/",
                                "vault/layer-00000.safetensors", "vault/layer-00002.safetensors"}));
}

TEST(Shatter, SaysWhenACheckpointHasNoTokenizer) {
  const test::Workshop shop;
  std::filesystem::remove(shop.checkpoint / "tokenizer.json");
  const auto report = test::shatter_folder(shop.checkpoint, shop.model);
  EXPECT_EQ(report.notes, std::vector<std::string>{
                              "no tokenizer.json: the model answers to tokens, not to text"});
}

TEST(Shatter, ReportsProgressUpToTheLastByte) {
  const test::Workshop shop;
  std::vector<std::string> doing;
  uint64_t last = 0;
  uint64_t total = 0;
  ShatterOptions options;
  options.progress = [&](const ShatterProgress& progress) {
    EXPECT_GE(progress.bytes_done, last);
    last = progress.bytes_done;
    total = progress.bytes_total;
    doing.emplace_back(progress.doing);
  };
  const auto report = test::shatter_folder(shop.checkpoint, shop.model, options);
  EXPECT_EQ(last, total);
  EXPECT_EQ(report.bytes_read, total);
  EXPECT_NE(std::find(doing.begin(), doing.end(), "layer 3 of 3"), doing.end());
  EXPECT_NE(std::find(doing.begin(), doing.end(), "scout"), doing.end());
}

TEST(Shatter, RefusesWeightsThatAreNoNumbers) {
  for (const char* name : {"model.layers.0.mlp.experts.1.up_proj.weight", "model.norm.weight",
                           "model.embed_tokens.weight"}) {
    const test::Workshop shop;
    test::TinyCheckpoint source = test::tiny_checkpoint({.experts = 4});
    auto& data = source.find(name)->data;
    data[6] = std::byte{0xc0};
    data[7] = std::byte{0x7f};  // element 3 becomes NaN
    source.write(shop.folder / "nan");
    const std::string outcome = test::shatter_outcome(shop.folder / "nan", shop.model);
    EXPECT_TRUE(outcome.starts_with(std::string("numeric_error: ") + name + ": ")) << outcome;
    EXPECT_NE(outcome.find('3'), std::string::npos) << outcome;
    EXPECT_FALSE(std::filesystem::exists(shop.model / "scout.safetensors"));
  }
}

}  // namespace
}  // namespace smoe
