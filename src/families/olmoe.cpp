// OLMoE (OLMoE-1B-7B): a norm over the whole query and key projections; intermediate_size is the
// width of one expert.
#include "families/common.h"
#include "families/families.h"

namespace smoe {
namespace {

constexpr FieldRule kFields[] = {
    {{"rms_norm_eps"}, &ModelFacts::norm_epsilon},
    {{"attention_bias"},
     &ModelFacts::attention_bias,
     Absent::kDefault,
     "false in OlmoeConfig; the biases' presence is compared"},
    {{"intermediate_size"}, &ModelFacts::expert_width, Absent::kShape},
    {{"norm_topk_prob"},
     &ModelFacts::renormalize,
     Absent::kDefault,
     "false in OlmoeConfig: weights are renormalised only where the config says so"},
};

constexpr ValueRule kValues[] = {
    {"clip_qkv", {"null"}},
};

constexpr TensorRule kTensors[] = {
    {Role::kQueryBias, kQueryBiasName}, {Role::kKeyBias, kKeyBiasName},
    {Role::kValueBias, kValueBiasName}, {Role::kOutputBias, kOutputBiasName},
    {Role::kQueryNorm, kQueryNormName}, {Role::kKeyNorm, kKeyNormName},
    {Role::kRouter, kRouterName},       {Role::kExpertGate, kExpertGateName},
    {Role::kExpertUp, kExpertUpName},   {Role::kExpertDown, kExpertDownName},
};

}  // namespace

constexpr Family kOlmoe = {
    .model_type = "olmoe",
    .qk_norm = QkNorm::kFullWidth,
    .score = Score::kSoftmaxThenTopK,
    .common_fields = kCommonFields,
    .fields = kFields,
    .common_values = kCommonValues,
    .values = kValues,
    .common_tensors = kCommonTensors,
    .tensors = kTensors,
};

}  // namespace smoe
