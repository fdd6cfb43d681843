// Qwen2-MoE (Qwen1.5-MoE-A2.7B, Qwen2-57B-A14B): biases on q, k, v and a sigmoid-gated shared
// expert.
#include "families/common.h"
#include "families/families.h"

namespace smoe {
namespace {

constexpr FieldRule kFields[] = {
    {{"rms_norm_eps"}, &ModelFacts::norm_epsilon},
    {{"qkv_bias"},
     &ModelFacts::qkv_bias,
     Absent::kDefault,
     "true in Qwen2MoeConfig; the biases' presence is compared"},
    {{"moe_intermediate_size"}, &ModelFacts::expert_width, Absent::kShape},
    {{"shared_expert_intermediate_size"}, &ModelFacts::shared_width, Absent::kShape},
    {{"intermediate_size"}, &ModelFacts::dense_width, Absent::kShape},
    {{"norm_topk_prob"},
     &ModelFacts::renormalize,
     Absent::kDefault,
     "false in Qwen2MoeConfig: weights are renormalised only where the config says so"},
    {{"mlp_only_layers"},
     &ModelFacts::dense_layers,
     Absent::kDefault,
     "none in Qwen2MoeConfig; the layers' tensors are compared"},
    {{"decoder_sparse_step"},
     &ModelFacts::sparse_step,
     Absent::kDefault,
     "1 in Qwen2MoeConfig; the layers' tensors are compared"},
};

constexpr ValueRule kValues[] = {
    {"use_sliding_window", {"false", "null"}},
};

constexpr TensorRule kTensors[] = {
    {Role::kQueryBias, kQueryBiasName},
    {Role::kKeyBias, kKeyBiasName},
    {Role::kValueBias, kValueBiasName},
    {Role::kDenseGate, kDenseGateName},
    {Role::kDenseUp, kDenseUpName},
    {Role::kDenseDown, kDenseDownName},
    {Role::kRouter, kRouterName},
    {Role::kSharedGate, "model.layers.{layer}.mlp.shared_expert.gate_proj.weight"},
    {Role::kSharedUp, "model.layers.{layer}.mlp.shared_expert.up_proj.weight"},
    {Role::kSharedDown, "model.layers.{layer}.mlp.shared_expert.down_proj.weight"},
    {Role::kSharedRouter, "model.layers.{layer}.mlp.shared_expert_gate.weight"},
    {Role::kExpertGate, kExpertGateName},
    {Role::kExpertUp, kExpertUpName},
    {Role::kExpertDown, kExpertDownName},
};

}  // namespace

constexpr Family kQwen2Moe = {
    .model_type = "qwen2_moe",
    .score = Score::kSoftmaxThenTopK,
    .qkv_bias = true,
    .shared_gated = true,
    .common_fields = kCommonFields,
    .fields = kFields,
    .common_values = kCommonValues,
    .values = kValues,
    .common_tensors = kCommonTensors,
    .tensors = kTensors,
};

}  // namespace smoe
