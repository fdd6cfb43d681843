// DeepSeek-MoE (deepseek-moe-16b): plain multi-head attention, leading dense layers, ungated shared
// experts that every token uses.
#include "families/common.h"
#include "families/families.h"

namespace smoe {
namespace {

constexpr FieldRule kFields[] = {
    {{"rms_norm_eps"},
     &ModelFacts::norm_epsilon,
     Absent::kDefault,
     "1e-6 in DeepseekConfig, and in every release",
     1e-6},
    {{"attention_bias"},
     &ModelFacts::attention_bias,
     Absent::kDefault,
     "false in DeepseekConfig; the biases' presence is compared"},
    {{"moe_intermediate_size"}, &ModelFacts::expert_width, Absent::kShape},
    {{"intermediate_size"}, &ModelFacts::dense_width, Absent::kShape},
    {.keys = {"n_shared_experts"},
     .fact = &ModelFacts::shared_experts,
     .absent = Absent::kDefault,
     .reason = "none in DeepseekConfig; the shared experts' presence is compared",
     .least = 0},
    {.keys = {"first_k_dense_replace"},
     .fact = &ModelFacts::leading_dense_layers,
     .absent = Absent::kDefault,
     .reason = "0 in DeepseekConfig; the layers' tensors are compared",
     .least = 0},
    {{"moe_layer_freq"},
     &ModelFacts::expert_layer_step,
     Absent::kDefault,
     "1 in DeepseekConfig; the layers' tensors are compared"},
    {{"norm_topk_prob"},
     &ModelFacts::renormalize,
     Absent::kDefault,
     "false in DeepseekConfig: weights are renormalised only where the config says so"},
    {{"routed_scaling_factor"},
     &ModelFacts::router_scale,
     Absent::kDefault,
     "DeepseekConfig has no such key: weights are not scaled",
     1},
};

constexpr ValueRule kValues[] = {
    {"scoring_func", {"\"softmax\""}},
    {"topk_method", {"\"greedy\"", "null"}},
    {"n_group", {"1", "null"}},
    {"topk_group", {"1", "null"}},
};

constexpr TensorRule kTensors[] = {
    {Role::kQueryBias, kQueryBiasName},
    {Role::kKeyBias, kKeyBiasName},
    {Role::kValueBias, kValueBiasName},
    {Role::kOutputBias, kOutputBiasName},
    {Role::kDenseGate, kDenseGateName},
    {Role::kDenseUp, kDenseUpName},
    {Role::kDenseDown, kDenseDownName},
    {Role::kRouter, kRouterName},
    {Role::kSharedGate, "model.layers.{layer}.mlp.shared_experts.gate_proj.weight"},
    {Role::kSharedUp, "model.layers.{layer}.mlp.shared_experts.up_proj.weight"},
    {Role::kSharedDown, "model.layers.{layer}.mlp.shared_experts.down_proj.weight"},
    {Role::kExpertGate, kExpertGateName},
    {Role::kExpertUp, kExpertUpName},
    {Role::kExpertDown, kExpertDownName},
};

}  // namespace

constexpr Family kDeepseek = {
    .model_type = "deepseek",
    .score = Score::kSoftmaxThenTopK,
    .common_fields = kCommonFields,
    .fields = kFields,
    .common_values = kCommonValues,
    .values = kValues,
    .common_tensors = kCommonTensors,
    .tensors = kTensors,
};

}  // namespace smoe
