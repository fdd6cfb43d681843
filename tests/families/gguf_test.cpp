// GGUF keys and tensors as the checkpoint that they were made from. Traps 26, 28, 30.
#include <gtest/gtest.h>

#include <functional>

#include "families/find.h"
#include "families/gguf_checkpoint.h"
#include "families/reading.h"
#include "support/gguf_checkpoint.h"

namespace smoe {
namespace {

using test::GgufWriter;
using test::TempDir;
using test::TinyShape;

namespace fs = std::filesystem;

class Gguf : public testing::Test {
 protected:
  GgufWriter file_of(const TinyShape& shape) {
    test::tiny_checkpoint(shape).write(folder_ / "checkpoint");
    return test::gguf_of(folder_ / "checkpoint");
  }

  Result<SourceModel> read(const GgufWriter& file) {
    file.write(folder_ / "m.gguf");
    auto source = open_source(folder_ / "m.gguf");
    if (!source) return source.error();
    notes_ = (*source)->notes();
    return read_source_model(**source);
  }

  // What a change of a small file leads to, without the folder's name.
  std::string refusal_of(const std::function<void(GgufWriter&)>& change,
                         const TinyShape& shape = {}) {
    GgufWriter file = file_of(shape);
    change(file);
    const auto model = read(file);
    if (model) return "accepted";
    std::string text = std::string(name_of(model.error().code)) + ": " + model.error().message;
    const std::string prefix = (folder_ / "m.gguf").string() + ": ";
    const size_t at = text.find(prefix);
    EXPECT_NE(at, std::string::npos) << text;
    return at == std::string::npos ? text : text.erase(at, prefix.size());
  }

  TempDir folder_;
  std::vector<std::string> notes_;
};

TEST_F(Gguf, GivesTheSpecOfItsCheckpoint) {
  for (const Family* family : known_families())
    for (const bool tied : {false, true}) {
      // What programs that run these files take for granted.
      const bool renormalize = family->model_type == "qwen3_moe" || family->model_type == "mixtral";
      const TinyShape shape = {.model_type = std::string(family->model_type),
                               .renormalize = renormalize,
                               .tied_head = tied};
      const auto model = read(file_of(shape));
      ASSERT_TRUE(model) << model.error().message;
      const auto wanted = test::read_folder(folder_ / "checkpoint");
      ASSERT_TRUE(wanted) << wanted.error().message;
      EXPECT_EQ(model->spec, wanted->spec) << family->model_type;
    }
}

TEST_F(Gguf, TellsDenseLayersAndBiasesByTheirTensors) {
  for (const TinyShape& shape :
       {TinyShape{.layers = 3, .dense_layers = {1}},
        {.attention_bias = true},
        {.model_type = "qwen2_moe", .layers = 3, .dense_layers = {0, 2}, .renormalize = false}}) {
    const auto model = read(file_of(shape));
    ASSERT_TRUE(model) << model.error().message;
    EXPECT_EQ(model->spec, test::read_folder(folder_ / "checkpoint")->spec);
  }
}

TEST_F(Gguf, LetsAFileSayWhetherWeightsAreRenormalised) {
  GgufWriter file = file_of({});
  EXPECT_TRUE(read(file)->spec.layers[0].ffn.router.renormalize);
  file.set_bool("qwen3moe.expert_weights_norm", false);
  EXPECT_FALSE(read(file)->spec.layers[0].ffn.router.renormalize);
}

TEST_F(Gguf, TakesEveryTokenThatEndsATurn) {
  GgufWriter file = file_of({});
  file.set_u32("tokenizer.ggml.eot_token_id", 7);
  EXPECT_EQ(read(file)->spec.eos, (std::vector<uint32_t>{1, 7}));
}

TEST_F(Gguf, RefusesArchitecturesByNameWithTheListThatWorks) {
  EXPECT_EQ(refusal_of([](GgufWriter& file) { file.set_string("general.architecture", "mamba"); }),
            "unsupported: architecture \"mamba\" is not supported, this build knows qwen3moe, "
            "qwen2moe, deepseek, olmoe, llama");
  EXPECT_EQ(refusal_of([](GgufWriter& file) { file.unset("general.architecture"); }),
            "corrupt: general.architecture is missing");
  EXPECT_EQ(refusal_of([](GgufWriter& file) { file.unset("llama.expert_count"); },
                       {.model_type = "mixtral"}),
            "unsupported: architecture llama without experts (llama.expert_count): this build runs "
            "Mixture-of-Experts models");
}

TEST_F(Gguf, RefusesToGuessWhatAKeyShouldSay) {
  for (const char* name : {"block_count", "context_length", "attention.head_count",
                           "attention.layer_norm_rms_epsilon", "expert_used_count"})
    EXPECT_EQ(refusal_of([&](GgufWriter& file) { file.unset("qwen3moe." + std::string(name)); }),
              "corrupt: qwen3moe." + std::string(name) + " is missing");
}

// Trap 30: the format's default is taken, and said.
TEST_F(Gguf, SaysWhenTheBaseOfRopeIsTheDefault) {
  GgufWriter file = file_of({});
  file.unset("qwen3moe.rope.freq_base");
  const auto model = read(file);
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->spec.layers[0].rope.theta, 10000);
  EXPECT_NE(std::find(notes_.begin(), notes_.end(),
                      "qwen3moe.rope.freq_base is not stated: 10000, the format's default"),
            notes_.end());
}

// Trap 28: what this build does not know could change the numbers.
TEST_F(Gguf, RefusesKeysOfItsArchitectureThatItDoesNotKnow) {
  EXPECT_EQ(refusal_of([](GgufWriter& file) { file.set_f32("qwen3moe.logit_scale", 2); }),
            "unsupported: qwen3moe.logit_scale is not known to this build; leaving it out could "
            "change the numbers");
  EXPECT_EQ(
      refusal_of([](GgufWriter& file) { file.set_string("qwen3moe.rope.scaling.type", "yarn"); }),
      "unsupported: qwen3moe.rope.scaling.type is \"yarn\", this build knows \"none\"");
  EXPECT_EQ(refusal_of([](GgufWriter& file) { file.set_u32("qwen3moe.expert_gating_func", 2); }),
            "unsupported: qwen3moe.expert_gating_func is 2, this build knows 1");
  EXPECT_EQ(refusal_of([](GgufWriter& file) { file.set_f32("qwen3moe.attention.clamp_kqv", 8); }),
            "unsupported: qwen3moe.attention.clamp_kqv is 8, this build knows 0");
  EXPECT_EQ(refusal_of([](GgufWriter& file) { file.set_u32("qwen3moe.rope.dimension_count", 8); }),
            "unsupported: qwen3moe.rope.dimension_count is 8, this build knows 16");
  EXPECT_EQ(refusal_of([](GgufWriter& file) { file.set_u32("llama.rope.dimension_count", 4); },
                       {.model_type = "mixtral"}),
            "unsupported: llama.rope.dimension_count is 4, this build knows 16");
  EXPECT_EQ(refusal_of([](GgufWriter& file) {
              file.set_string("qwen3moe.rope.scaling.type", "none");
              file.set_u32("qwen3moe.rope.dimension_count", 16);
              file.set_u32("qwen3moe.attention.value_length", 16);
              file.set_u32("qwen3moe.expert_gating_func", 1);
              file.set_u32("qwen2moe.unrelated", 1);
            }),
            "accepted");
}

TEST_F(Gguf, RefusesValuesThatDifferBetweenLayersOrContradict) {
  EXPECT_EQ(refusal_of([](GgufWriter& file) {
              file.set_ints("qwen3moe.attention.head_count_kv", {2, 4});
            }),
            "unsupported: qwen3moe.attention.head_count_kv differs between layers or is of another "
            "kind");
  EXPECT_EQ(refusal_of([](GgufWriter& file) {
              file.set_ints("qwen3moe.attention.head_count_kv", {2, 2});
            }),
            "accepted");
  EXPECT_EQ(
      refusal_of([](GgufWriter& file) { file.set_u32("olmoe.expert_feed_forward_length", 64); },
                 {.model_type = "olmoe", .renormalize = false}),
      "corrupt: olmoe.feed_forward_length is 32, but another key says 64");
  EXPECT_EQ(refusal_of([](GgufWriter& file) { file.set_u32("qwen3moe.expert_shared_count", 2); }),
            "unsupported: qwen3moe.expert_shared_count is 2, which a qwen3_moe model cannot have");
  EXPECT_NE(refusal_of([](GgufWriter& file) { file.set_u32("qwen3moe.embedding_length", 64); }),
            "accepted");
  EXPECT_NE(refusal_of([](GgufWriter& file) { file.set_u32("qwen3moe.expert_count", 9); }),
            "accepted");
}

TEST_F(Gguf, RefusesTensorsThatAreMissingOrUnknown) {
  EXPECT_EQ(refusal_of([](GgufWriter& file) {
              file.tensors.push_back({"rope_freqs.weight", {8}, 0, std::string(32, 'x')});
            }),
            "unsupported: rope_freqs.weight: a qwen3_moe model has no such tensor; leaving it out "
            "would change the numbers");
  EXPECT_EQ(refusal_of([](GgufWriter& file) { file.find("blk.1.ffn_norm.weight")->name = "x"; }),
            "unsupported: x: a qwen3_moe model has no such tensor; leaving it out would change the "
            "numbers");
  const std::string missing = refusal_of([](GgufWriter& file) {
    std::erase_if(file.tensors, [](const auto& one) { return one.name == "blk.1.attn_k.weight"; });
  });
  EXPECT_NE(missing.find("this tensor is missing"), std::string::npos) << missing;
}

TEST_F(Gguf, RefusesAnExpertThatIsThereTwice) {
  EXPECT_EQ(refusal_of([](GgufWriter& file) {
              GgufWriter::Tensor one = *file.find("blk.0.ffn_up_exps.weight");
              one.name = "blk.0.ffn_up.3.weight";
              one.dims.pop_back();
              one.data.resize(one.data.size() / 8);
              file.tensors.push_back(one);
            }),
            "corrupt: holds \"model.layers.0.mlp.experts.3.up_proj.weight\" twice");
}

TEST_F(Gguf, RefusesRowsThatAreNoPairs) {
  const std::string refused =
      refusal_of([](GgufWriter& file) { file.set_u32("llama.attention.head_count", 7); },
                 {.model_type = "mixtral"});
  EXPECT_EQ(refused,
            "corrupt: blk.0.attn_q.weight: its 64 rows are no pairs for the heads that "
            "llama.attention.head_count states");
}

TEST_F(Gguf, DeliversExpertByExpert) {
  file_of({}).write(folder_ / "m.gguf");
  const auto source = open_source(folder_ / "m.gguf");
  ASSERT_TRUE(source);
  std::vector<std::string> experts;
  const Status status = (*source)->deliver(
      [](const TensorSource::Tensor& tensor) {
        return tensor.name.find(".experts.") != std::string::npos;
      },
      [&](const TensorSource::Tensor& tensor, std::span<const std::byte> data) -> Status {
        EXPECT_EQ(data.size(), tensor.bytes);
        const auto copy = (*source)->read(tensor.name);
        EXPECT_TRUE(copy && std::equal(copy->begin(), copy->end(), data.begin(), data.end()));
        experts.push_back(
            tensor.name.substr(0, tensor.name.find('.', tensor.name.find(".experts.") + 9)));
        return {};
      });
  ASSERT_TRUE(status) << status.error().message;
  ASSERT_EQ(experts.size(), 2U * 8 * 3);
  for (size_t i = 0; i < experts.size(); ++i) EXPECT_EQ(experts[i], experts[i / 3 * 3]);
  EXPECT_EQ((*source)->read("nothing").error().code, Code::kNotFound);
}

TEST_F(Gguf, OpensFoldersAsBefore) {
  test::tiny_checkpoint().write(folder_ / "checkpoint");
  EXPECT_TRUE(open_source(folder_ / "checkpoint"));
  EXPECT_EQ(open_source(folder_ / "absent.gguf").error().code, Code::kNotFound);
  fs::create_directory(folder_ / "folder.gguf");
  EXPECT_EQ(open_source(folder_ / "folder.gguf").error().code, Code::kNotFound);
  test::small_gguf().write(folder_ / "folder.gguf" / "b.gguf");
  test::small_gguf().write(folder_ / "folder.gguf" / "a.gguf");
  const auto refused = open_source(folder_ / "folder.gguf");
  EXPECT_EQ(refused.error().code, Code::kUsage);
  EXPECT_EQ(refused.error().message,
            (folder_ / "folder.gguf").string() +
                ": holds GGUF files and no config.json; name the file, for instance " +
                (folder_ / "folder.gguf" / "a.gguf").string());
}

}  // namespace
}  // namespace smoe
