// A model family as data: which config key fills which fact, which values a config must have, which
// tensor plays which role, and which named rule applies. How to add one: docs/add-a-family.md.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "model/inventory.h"
#include "model/spec.h"

namespace smoe {

// What a config states, before it is spread over the layers. 0 means "not stated".
struct ModelFacts {
  uint32_t width = 0;
  uint32_t vocabulary = 0;
  uint32_t layers = 0;
  uint32_t context = 0;
  uint32_t heads = 0;
  uint32_t kv_heads = 0;
  uint32_t head_dim = 0;
  bool attention_bias = false;  // on q, k, v and the output
  bool qkv_bias = false;        // on q, k, v only
  bool tied_head = false;
  double norm_epsilon = 0;

  uint32_t experts = 0;
  uint32_t active_experts = 0;
  bool renormalize = false;
  double router_scale = 1;
  uint32_t expert_width = 0;
  uint32_t dense_width = 0;
  uint32_t shared_width = 0;    // of the shared expert as a whole, or
  uint32_t shared_experts = 0;  // so many shared experts of expert_width, taken as one

  // A layer has experts unless one of these makes it dense; the initial values make none dense.
  std::vector<uint32_t> dense_layers;  // these
  uint32_t sparse_step = 1;            // those where (layer + 1) is no multiple of it
  uint32_t leading_dense_layers = 0;   // the first ones
  uint32_t expert_layer_step = 1;      // those where layer is no multiple of it
};

using Fact = std::variant<uint32_t ModelFacts::*, bool ModelFacts::*, double ModelFacts::*,
                          std::vector<uint32_t> ModelFacts::*>;

enum class Absent : uint8_t {
  kError,    // it changes numbers and nothing else tells it
  kShape,    // tensor shapes tell it (model/probe.h)
  kDefault,  // ModelFacts' initial value or `fallback`, for the stated reason
};

// One fact and the keys that may state it. Several present keys must agree; null counts as absent.
struct FieldRule {
  std::array<std::string_view, 3> keys;
  Fact fact;
  Absent absent = Absent::kError;
  std::string_view reason = {};  // why the default is safe
  double fallback = 0;           // for doubles only
  uint32_t least = 1;            // smallest legal value, for whole numbers
};

// A key that, where present, must have one of these values, given as JSON text. For an array every
// element must.
struct ValueRule {
  std::string_view key;
  std::array<std::string_view, 3> allowed;
};

// "model.layers.{layer}.mlp.experts.{expert}.up_proj.weight"
struct TensorRule {
  Role role;
  std::string_view pattern;
};

struct Family {
  std::string_view model_type;
  QkNorm qk_norm = QkNorm::kNone;
  Score score = Score::kSoftmaxThenTopK;
  bool renormalize = false;  // always, whatever the config says
  bool qkv_bias = false;     // unless a field says otherwise
  bool shared_gated = false;
  // What many families share (families/common.h), then what this one has.
  std::span<const FieldRule> common_fields;
  std::span<const FieldRule> fields;
  std::span<const ValueRule> common_values;
  std::span<const ValueRule> values;
  std::span<const TensorRule> common_tensors;
  std::span<const TensorRule> tensors;
};

// The first spelling of the key that fills `fact`; kNoKey for a fact that the family has no key
// for.
inline constexpr std::string_view kNoKey = "(no key)";
std::string_view config_key(const Family& family, Fact fact);

// A checkpoint, understood: its spec and the source tensor behind each role.
struct SourceModel {
  ModelSpec spec;
  const Family* family = nullptr;

  // The checkpoint's name for a tensor, e.g. (kExpertUp, 3, 17).
  std::string source_name(Role role, uint32_t layer, uint32_t expert = 0) const;
};

}  // namespace smoe
