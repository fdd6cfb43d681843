#include "model/spec.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "model/tiny_spec.h"

namespace smoe {
namespace {

using test::dense_layer;
using test::expert_layer;
using test::tiny_spec;

TEST(ModelSpec, SurvivesJson) {
  ModelSpec spec = tiny_spec();
  spec.family = "a \"name\"\n";
  spec.layers[1].attention.qk_norm = QkNorm::kFullWidth;
  spec.layers[1].attention.output_bias = true;
  spec.layers[1].ffn.router.score = Score::kTopKThenSoftmax;
  spec.layers[1].ffn.router.scale = 0.1F;
  spec.layers[1].rope.theta = 1e6 / 3;
  const auto read = ModelSpec::from_json(spec.to_json());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, spec);
}

TEST(ModelSpec, RefusesARuleThatThisBuildDoesNotKnow) {
  std::string text = tiny_spec().to_json();
  text.replace(text.find("softmax_then_top_k"), 18, "sigmoid_with_bias!");
  const auto read = ModelSpec::from_json(text);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Code::kUnsupported);
  EXPECT_EQ(read.error().message,
            "model spec: layers[0].ffn.router.score: this build does not know "
            "\"sigmoid_with_bias!\"");
}

TEST(ModelSpec, RefusesAKeyThatThisBuildDoesNotKnow) {
  std::string text = tiny_spec().to_json();
  text.replace(text.find("\"dims\""), 6, "\"sink\":1,\"dims\"");
  const auto read = ModelSpec::from_json(text);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Code::kUnsupported);
  EXPECT_EQ(read.error().message,
            "model spec: layers[0].rope.sink: this build does not know that key");
}

TEST(ModelSpec, RefusesAMissingKeyAndAWrongType) {
  const std::string text = tiny_spec().to_json();
  for (const auto& [from, to, message] :
       {std::tuple{"\"width\":32,", "", "model spec: width: must be a whole number below 2^32"},
        std::tuple{"\"width\":32,", "\"width\":-1,",
                   "model spec: width: must be a whole number below 2^32"},
        std::tuple{"\"eos\":[1]", "\"eos\":1",
                   "model spec: eos: must be an array of whole numbers"},
        std::tuple{"\"tied_head\":false", "\"tied_head\":0",
                   "model spec: tied_head: must be true or false"}}) {
    std::string changed = text;
    ASSERT_NE(changed.find(from), std::string::npos) << from;
    changed.replace(changed.find(from), std::string(from).size(), to);
    const auto read = ModelSpec::from_json(changed);
    ASSERT_FALSE(read) << to;
    EXPECT_EQ(read.error().message, message);
  }
  EXPECT_FALSE(ModelSpec::from_json("[]"));
  EXPECT_FALSE(ModelSpec::from_json(text.substr(0, text.size() / 2)));
}

struct Breakage {
  const char* what;
  std::function<void(ModelSpec&)> apply;
  const char* message;
};

TEST(ModelSpec, RefusesEveryNumberOutOfBounds) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Breakage breakages[] = {
      {"no layer", [](ModelSpec& s) { s.layers.clear(); }, "model: layers is 0"},
      {"width", [](ModelSpec& s) { s.width = 0; }, "model: width is 0"},
      {"huge width", [](ModelSpec& s) { s.width = 1U << 30; }, "model: width is 1073741824"},
      {"vocabulary", [](ModelSpec& s) { s.vocabulary = 0; }, "model: vocabulary is 0"},
      {"context", [](ModelSpec& s) { s.context = 0; }, "model: context is 0"},
      {"epsilon", [](ModelSpec& s) { s.norm_epsilon = 0; }, "model: norm_epsilon is 0"},
      {"nan", [=](ModelSpec& s) { s.norm_epsilon = nan; }, "model: norm_epsilon is nan"},
      {"bos", [](ModelSpec& s) { s.bos = {48}; }, "model: bos token 48 lies outside"},
      {"eos",
       [](ModelSpec& s) {
         s.eos = {1, 99};
       },
       "model: eos token 99 lies outside"},
      {"heads", [](ModelSpec& s) { s.layers[1].attention.heads = 0; },
       "layer 1: attention.heads is 0"},
      {"kv heads", [](ModelSpec& s) { s.layers[1].attention.kv_heads = 3; },
       "layer 1: attention.heads 4 is no multiple of attention.kv_heads 3"},
      {"more kv heads", [](ModelSpec& s) { s.layers[1].attention.kv_heads = 8; },
       "layer 1: attention.kv_heads is 8, must be 1 to 4"},
      {"head size", [](ModelSpec& s) { s.layers[0].attention.head_dim = 0; },
       "layer 0: attention.head_dim is 0"},
      {"heads x size",
       [](ModelSpec& s) {
         s.layers[0].attention.heads = 1U << 16;
         s.layers[0].attention.head_dim = 1U << 16;
       },
       "layer 0: attention.heads x head_dim is 4294967296"},
      {"scale", [](ModelSpec& s) { s.layers[0].attention.scale = -1; },
       "layer 0: attention.scale is -1"},
      {"theta", [](ModelSpec& s) { s.layers[0].rope.theta = HUGE_VAL; },
       "layer 0: rope.theta is inf"},
      {"odd rope", [](ModelSpec& s) { s.layers[0].rope.dims = 7; }, "layer 0: rope.dims is 7"},
      {"wide rope", [](ModelSpec& s) { s.layers[0].rope.dims = 10; }, "layer 0: rope.dims is 10"},
      {"no rope", [](ModelSpec& s) { s.layers[0].rope.dims = 0; }, "layer 0: rope.dims is 0"},
      {"ffn", [](ModelSpec& s) { s.layers[0].ffn.width = 0; }, "layer 0: ffn.width is 0"},
      {"experts", [](ModelSpec& s) { s.layers[1].ffn.experts = 65536; },
       "layer 1: ffn.experts is 65536"},
      {"k", [](ModelSpec& s) { s.layers[1].ffn.router.active_experts = 0; },
       "layer 1: router.active_experts is 0"},
      {"k > experts", [](ModelSpec& s) { s.layers[1].ffn.router.active_experts = 9; },
       "layer 1: router.active_experts is 9, must be 1 to 8"},
      {"router scale", [](ModelSpec& s) { s.layers[1].ffn.router.scale = 0; },
       "layer 1: router.scale is 0"},
      {"shared", [](ModelSpec& s) { s.layers[1].ffn.shared_width = 1U << 21; },
       "layer 1: ffn.shared_width is 2097152"},
      {"gated nothing", [](ModelSpec& s) { s.layers[1].ffn.shared_width = 0; },
       "layer 1: ffn.shared_gated without a shared expert"},
      {"dense with experts", [](ModelSpec& s) { s.layers[0].ffn.experts = 8; },
       "layer 0: a dense layer has neither experts"},
      {"too many layers", [](ModelSpec& s) { s.layers.resize(4097, s.layers[0]); },
       "model: layers is 4097"},
      {"too large",
       [](ModelSpec& s) {
         s.width = 1U << 20;
         s.layers[1].ffn.width = 1U << 20;
         s.layers[1].ffn.experts = 65535;
       },
       "layer 1: the model has more than 281474976710656 parameters"},
  };
  for (const Breakage& breakage : breakages) {
    ModelSpec spec = tiny_spec();
    breakage.apply(spec);
    const Status status = spec.check();
    ASSERT_FALSE(status) << breakage.what;
    EXPECT_TRUE(status.error().message.starts_with(breakage.message)) << status.error().message;
  }
  EXPECT_TRUE(tiny_spec().check());
}

TEST(ModelSpec, CountsItsParameters) {
  ModelSpec spec = tiny_spec();
  spec.layers = {dense_layer()};
  const uint64_t attention = 32 + 32 * 32 + 2 * (16 * 32) + 32 * 32 + 32;
  const uint64_t dense = 3 * 64 * 32;
  EXPECT_EQ(spec.parameters(), 2 * 48 * 32 + 32 + attention + dense);
  EXPECT_EQ(spec.active_parameters(), 48 * 32 + 2 * 32 + attention + dense);

  spec.layers = {expert_layer()};
  spec.tied_head = true;
  const uint64_t biases = 32 + 2 * 16;
  const uint64_t shared = 3 * 40 * 32 + 32;
  const uint64_t expert = 3 * 24 * 32;
  EXPECT_EQ(spec.parameters(), 48 * 32 + 32 + attention + biases + 8 * 32 + shared + 8 * expert);
  EXPECT_EQ(spec.active_parameters(),
            48 * 32 + 2 * 32 + attention + biases + 8 * 32 + shared + 2 * expert);
  EXPECT_EQ(spec.expert_layers(), 1U);
}

}  // namespace
}  // namespace smoe
