// What the families of the Llama lineage share in their configs and tensor names.
#pragma once

#include "model/family.h"

namespace smoe {

inline constexpr FieldRule kCommonFields[] = {
    {{"hidden_size"}, &ModelFacts::width, Absent::kShape},
    {{"vocab_size"}, &ModelFacts::vocabulary, Absent::kShape},
    {{"num_hidden_layers"}, &ModelFacts::layers},
    {{"max_position_embeddings"}, &ModelFacts::context},
    {{"num_attention_heads"}, &ModelFacts::heads},
    {{"num_key_value_heads"}, &ModelFacts::kv_heads, Absent::kShape},
    {{"head_dim"},
     &ModelFacts::head_dim,
     Absent::kDefault,
     "hidden_size / num_attention_heads in every config class; shapes are compared"},
    {{"tie_word_embeddings"},
     &ModelFacts::tied_head,
     Absent::kDefault,
     "false in these config classes; the head's presence is compared"},
    {{"num_experts", "num_local_experts", "n_routed_experts"},
     &ModelFacts::experts,
     Absent::kShape},
    {{"num_experts_per_tok"}, &ModelFacts::active_experts},
};

// A key that is absent here has this value in the config classes, too.
inline constexpr ValueRule kCommonValues[] = {
    {"hidden_act", {"\"silu\"", "\"swish\""}},  // two names of one function
    {"partial_rotary_factor", {"1", "null"}},
    {"layer_types", {"\"full_attention\"", "[]", "null"}},
    {"compression_config", {"null"}},
};

inline constexpr TensorRule kCommonTensors[] = {
    {Role::kEmbedding, "model.embed_tokens.weight"},
    {Role::kFinalNorm, "model.norm.weight"},
    {Role::kHead, "lm_head.weight"},
    {Role::kAttentionNorm, "model.layers.{layer}.input_layernorm.weight"},
    {Role::kQuery, "model.layers.{layer}.self_attn.q_proj.weight"},
    {Role::kKey, "model.layers.{layer}.self_attn.k_proj.weight"},
    {Role::kValue, "model.layers.{layer}.self_attn.v_proj.weight"},
    {Role::kOutput, "model.layers.{layer}.self_attn.o_proj.weight"},
    {Role::kFfnNorm, "model.layers.{layer}.post_attention_layernorm.weight"},
};

// The projections' biases, where a config may ask for them.
inline constexpr std::string_view kQueryBiasName = "model.layers.{layer}.self_attn.q_proj.bias";
inline constexpr std::string_view kKeyBiasName = "model.layers.{layer}.self_attn.k_proj.bias";
inline constexpr std::string_view kValueBiasName = "model.layers.{layer}.self_attn.v_proj.bias";
inline constexpr std::string_view kOutputBiasName = "model.layers.{layer}.self_attn.o_proj.bias";

inline constexpr std::string_view kQueryNormName = "model.layers.{layer}.self_attn.q_norm.weight";
inline constexpr std::string_view kKeyNormName = "model.layers.{layer}.self_attn.k_norm.weight";

// The feed-forward tensors of all but mixtral.
inline constexpr std::string_view kDenseGateName = "model.layers.{layer}.mlp.gate_proj.weight";
inline constexpr std::string_view kDenseUpName = "model.layers.{layer}.mlp.up_proj.weight";
inline constexpr std::string_view kDenseDownName = "model.layers.{layer}.mlp.down_proj.weight";
inline constexpr std::string_view kRouterName = "model.layers.{layer}.mlp.gate.weight";
inline constexpr std::string_view kExpertGateName =
    "model.layers.{layer}.mlp.experts.{expert}.gate_proj.weight";
inline constexpr std::string_view kExpertUpName =
    "model.layers.{layer}.mlp.experts.{expert}.up_proj.weight";
inline constexpr std::string_view kExpertDownName =
    "model.layers.{layer}.mlp.experts.{expert}.down_proj.weight";

}  // namespace smoe
