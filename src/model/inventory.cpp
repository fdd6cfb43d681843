#include "model/inventory.h"

#include <array>

#include "base/check.h"

namespace smoe {
namespace {

struct RoleInfo {
  Role role;
  std::string_view scout;  // after "layer.N." for a role of a layer; empty for an expert's
  bool per_layer;
  bool vector;
  Axis rows;
  Axis cols;
};

// In the order in which a step reads them, apart from the final norm and the head.
constexpr std::array<RoleInfo, kRoles> kInfo = {{
    {Role::kEmbedding, "embedding", false, false, Axis::kVocabulary, Axis::kWidth},
    {Role::kFinalNorm, "final_norm", false, true, Axis::kOne, Axis::kWidth},
    {Role::kHead, "head", false, false, Axis::kVocabulary, Axis::kWidth},
    {Role::kAttentionNorm, "attention.norm", true, true, Axis::kOne, Axis::kWidth},
    {Role::kQuery, "attention.q", true, false, Axis::kQueryWidth, Axis::kWidth},
    {Role::kKey, "attention.k", true, false, Axis::kKvWidth, Axis::kWidth},
    {Role::kValue, "attention.v", true, false, Axis::kKvWidth, Axis::kWidth},
    {Role::kQueryBias, "attention.q_bias", true, true, Axis::kOne, Axis::kQueryWidth},
    {Role::kKeyBias, "attention.k_bias", true, true, Axis::kOne, Axis::kKvWidth},
    {Role::kValueBias, "attention.v_bias", true, true, Axis::kOne, Axis::kKvWidth},
    {Role::kQueryNorm, "attention.q_norm", true, true, Axis::kOne, Axis::kHeadDim},
    {Role::kKeyNorm, "attention.k_norm", true, true, Axis::kOne, Axis::kHeadDim},
    {Role::kOutput, "attention.output", true, false, Axis::kWidth, Axis::kQueryWidth},
    {Role::kOutputBias, "attention.output_bias", true, true, Axis::kOne, Axis::kWidth},
    {Role::kFfnNorm, "ffn.norm", true, true, Axis::kOne, Axis::kWidth},
    {Role::kDenseGate, "dense.gate", true, false, Axis::kDenseWidth, Axis::kWidth},
    {Role::kDenseUp, "dense.up", true, false, Axis::kDenseWidth, Axis::kWidth},
    {Role::kDenseDown, "dense.down", true, false, Axis::kWidth, Axis::kDenseWidth},
    {Role::kRouter, "router", true, false, Axis::kExperts, Axis::kWidth},
    {Role::kSharedGate, "shared.gate", true, false, Axis::kSharedWidth, Axis::kWidth},
    {Role::kSharedUp, "shared.up", true, false, Axis::kSharedWidth, Axis::kWidth},
    {Role::kSharedDown, "shared.down", true, false, Axis::kWidth, Axis::kSharedWidth},
    {Role::kSharedRouter, "shared.router", true, false, Axis::kOne, Axis::kWidth},
    {Role::kExpertGate, "", true, false, Axis::kExpertWidth, Axis::kWidth},
    {Role::kExpertUp, "", true, false, Axis::kExpertWidth, Axis::kWidth},
    {Role::kExpertDown, "", true, false, Axis::kWidth, Axis::kExpertWidth},
}};

constexpr bool is_in_enum_order() {
  for (size_t i = 0; i < kInfo.size(); ++i)
    if (static_cast<size_t>(kInfo[i].role) != i) return false;
  return true;
}
static_assert(is_in_enum_order());

const RoleInfo& info(Role role) { return kInfo[static_cast<size_t>(role)]; }

uint32_t length(const ModelSpec& spec, const LayerSpec& layer, Axis axis) {
  switch (axis) {
    case Axis::kOne:
      return 1;
    case Axis::kVocabulary:
      return spec.vocabulary;
    case Axis::kWidth:
      return spec.width;
    case Axis::kQueryWidth:
      return layer.attention.heads * layer.attention.head_dim;
    case Axis::kKvWidth:
      return layer.attention.kv_heads * layer.attention.head_dim;
    case Axis::kHeadDim:
      return layer.attention.head_dim;
    case Axis::kDenseWidth:
    case Axis::kExpertWidth:
      return layer.ffn.width;
    case Axis::kExperts:
      return layer.ffn.experts;
    case Axis::kSharedWidth:
      return layer.ffn.shared_width;
  }
  return 0;
}

bool layer_needs(const LayerSpec& layer, Role role) {
  const bool experts = layer.ffn.kind == FfnKind::kExperts;
  switch (role) {
    case Role::kEmbedding:
    case Role::kFinalNorm:
    case Role::kHead:
      return false;
    case Role::kAttentionNorm:
    case Role::kQuery:
    case Role::kKey:
    case Role::kValue:
    case Role::kOutput:
    case Role::kFfnNorm:
      return true;
    case Role::kQueryBias:
    case Role::kKeyBias:
    case Role::kValueBias:
      return layer.attention.qkv_bias;
    case Role::kQueryNorm:
    case Role::kKeyNorm:
      return layer.attention.qk_norm != QkNorm::kNone;
    case Role::kOutputBias:
      return layer.attention.output_bias;
    case Role::kDenseGate:
    case Role::kDenseUp:
    case Role::kDenseDown:
      return !experts;
    case Role::kRouter:
    case Role::kExpertGate:
    case Role::kExpertUp:
    case Role::kExpertDown:
      return experts;
    case Role::kSharedGate:
    case Role::kSharedUp:
    case Role::kSharedDown:
      return experts && layer.ffn.shared_width > 0;
    case Role::kSharedRouter:
      return experts && layer.ffn.shared_width > 0 && layer.ffn.shared_gated;
  }
  return false;
}

}  // namespace

bool is_vector(Role role) { return info(role).vector; }

bool is_expert(Role role) { return info(role).scout.empty(); }

bool is_per_layer(Role role) { return info(role).per_layer; }

RoleAxes axes_of(QkNorm qk_norm, Role role) {
  RoleAxes axes{info(role).rows, info(role).cols};
  if (qk_norm == QkNorm::kFullWidth && role == Role::kQueryNorm) axes.cols = Axis::kQueryWidth;
  if (qk_norm == QkNorm::kFullWidth && role == Role::kKeyNorm) axes.cols = Axis::kKvWidth;
  return axes;
}

std::string scout_name(Role role, uint32_t layer) {
  SMOE_CHECK(!is_expert(role));
  if (!is_per_layer(role)) return std::string(info(role).scout);
  return "layer." + std::to_string(layer) + "." + std::string(info(role).scout);
}

bool is_needed(const ModelSpec& spec, Role role, uint32_t layer) {
  if (!is_per_layer(role)) return role != Role::kHead || !spec.tied_head;
  return layer < spec.layers.size() && layer_needs(spec.layers[layer], role);
}

TensorNeed need_of(const ModelSpec& spec, Role role, uint32_t layer) {
  SMOE_CHECK(layer < spec.layers.size());
  const LayerSpec& in = spec.layers[layer];
  const RoleAxes axes = axes_of(in.attention.qk_norm, role);
  return {role, layer, length(spec, in, axes.rows), length(spec, in, axes.cols), is_vector(role)};
}

std::vector<TensorNeed> scout_needs(const ModelSpec& spec) {
  std::vector<TensorNeed> needs = {need_of(spec, Role::kEmbedding, 0)};
  for (uint32_t layer = 0; layer < spec.layers.size(); ++layer)
    for (const RoleInfo& role : kInfo)
      if (role.per_layer && !is_expert(role.role) && is_needed(spec, role.role, layer))
        needs.push_back(need_of(spec, role.role, layer));
  needs.push_back(need_of(spec, Role::kFinalNorm, 0));
  if (!spec.tied_head) needs.push_back(need_of(spec, Role::kHead, 0));
  return needs;
}

}  // namespace smoe
