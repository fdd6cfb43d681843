// Qwen3-MoE (Qwen3-30B-A3B, Qwen3-235B-A22B, Qwen3-Coder): a norm on each head's query and key.
#include "families/common.h"
#include "families/families.h"

namespace smoe {
namespace {

constexpr FieldRule kFields[] = {
    {{"rms_norm_eps"}, &ModelFacts::norm_epsilon},
    {{"attention_bias"},
     &ModelFacts::attention_bias,
     Absent::kDefault,
     "false in Qwen3MoeConfig; the biases' presence is compared"},
    {{"moe_intermediate_size"}, &ModelFacts::expert_width, Absent::kShape},
    {{"intermediate_size"}, &ModelFacts::dense_width, Absent::kShape},
    {{"norm_topk_prob"},
     &ModelFacts::renormalize,
     Absent::kDefault,
     "false in Qwen3MoeConfig: weights are renormalised only where the config says so"},
    {{"mlp_only_layers"},
     &ModelFacts::dense_layers,
     Absent::kDefault,
     "none in Qwen3MoeConfig; the layers' tensors are compared"},
    {{"decoder_sparse_step"},
     &ModelFacts::sparse_step,
     Absent::kDefault,
     "1 in Qwen3MoeConfig; the layers' tensors are compared"},
};

constexpr ValueRule kValues[] = {
    {"use_sliding_window", {"false", "null"}},
};

constexpr TensorRule kTensors[] = {
    {Role::kQueryBias, kQueryBiasName},   {Role::kKeyBias, kKeyBiasName},
    {Role::kValueBias, kValueBiasName},   {Role::kOutputBias, kOutputBiasName},
    {Role::kQueryNorm, kQueryNormName},   {Role::kKeyNorm, kKeyNormName},
    {Role::kDenseGate, kDenseGateName},   {Role::kDenseUp, kDenseUpName},
    {Role::kDenseDown, kDenseDownName},   {Role::kRouter, kRouterName},
    {Role::kExpertGate, kExpertGateName}, {Role::kExpertUp, kExpertUpName},
    {Role::kExpertDown, kExpertDownName},
};

}  // namespace

constexpr Family kQwen3Moe = {
    .model_type = "qwen3_moe",
    .qk_norm = QkNorm::kPerHead,
    .score = Score::kSoftmaxThenTopK,
    .common_fields = kCommonFields,
    .fields = kFields,
    .common_values = kCommonValues,
    .values = kValues,
    .common_tensors = kCommonTensors,
    .tensors = kTensors,
};

}  // namespace smoe
