// Mixtral (8x7B, 8x22B). A softmax over the k largest logits is the softmax over all of them,
// renormalised over the kept k; the reference implementation computes the latter.
#include "families/common.h"
#include "families/families.h"

namespace smoe {
namespace {

constexpr FieldRule kFields[] = {
    {{"rms_norm_eps"}, &ModelFacts::norm_epsilon},
    {{"intermediate_size"}, &ModelFacts::expert_width, Absent::kShape},
};

constexpr ValueRule kValues[] = {
    {"sliding_window", {"null"}},
};

constexpr TensorRule kTensors[] = {
    {Role::kRouter, "model.layers.{layer}.block_sparse_moe.gate.weight"},
    {Role::kExpertGate, "model.layers.{layer}.block_sparse_moe.experts.{expert}.w1.weight"},
    {Role::kExpertUp, "model.layers.{layer}.block_sparse_moe.experts.{expert}.w3.weight"},
    {Role::kExpertDown, "model.layers.{layer}.block_sparse_moe.experts.{expert}.w2.weight"},
};

}  // namespace

constexpr Family kMixtral = {
    .model_type = "mixtral",
    .score = Score::kSoftmaxThenTopK,
    .renormalize = true,
    .common_fields = kCommonFields,
    .fields = kFields,
    .common_values = kCommonValues,
    .values = kValues,
    .common_tensors = kCommonTensors,
    .tensors = kTensors,
};

}  // namespace smoe
