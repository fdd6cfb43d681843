// Which tensors a model of a given spec has: roles, their names in a scout, and their shapes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/spec.h"

namespace smoe {

enum class Role : uint8_t {
  kEmbedding,
  kFinalNorm,
  kHead,
  kAttentionNorm,
  kQuery,
  kKey,
  kValue,
  kQueryBias,
  kKeyBias,
  kValueBias,
  kQueryNorm,
  kKeyNorm,
  kOutput,
  kOutputBias,
  kFfnNorm,
  kDenseGate,
  kDenseUp,
  kDenseDown,
  kRouter,
  kSharedGate,
  kSharedUp,
  kSharedDown,
  kSharedRouter,
  kExpertGate,
  kExpertUp,
  kExpertDown,
};
inline constexpr size_t kRoles = 26;

// What an axis of a weight counts.
enum class Axis : uint8_t {
  kOne,  // the rows of a vector
  kVocabulary,
  kWidth,
  kQueryWidth,  // heads x head_dim
  kKvWidth,     // kv_heads x head_dim
  kHeadDim,     // or, for a full-width norm, kQueryWidth and kKvWidth
  kDenseWidth,
  kExperts,
  kSharedWidth,
  kExpertWidth,
};

// "embedding", "layer.3.attention.q", "layer.3.router", "layer.3.shared.gate" …: the tensor's name
// in a scout. Expert roles have none (they lie in the vault).
std::string scout_name(Role role, uint32_t layer);

struct TensorNeed {
  Role role;
  uint32_t layer;  // 0 for embedding, final norm, head
  uint32_t rows;   // 1 for vectors
  uint32_t cols;
  bool vector;  // norms and biases: stored as f32 rows
};

// Every scout tensor that `spec` needs, in the order in which a step reads them.
std::vector<TensorNeed> scout_needs(const ModelSpec& spec);

// Whether a model of this spec has that tensor; expert roles included. A layer that the spec does
// not have needs nothing.
bool is_needed(const ModelSpec& spec, Role role, uint32_t layer);

// The shape of one tensor, needed or not; expert roles included.
TensorNeed need_of(const ModelSpec& spec, Role role, uint32_t layer);

struct RoleAxes {
  Axis rows;
  Axis cols;
};
RoleAxes axes_of(QkNorm qk_norm, Role role);
bool is_vector(Role role);
bool is_expert(Role role);
bool is_per_layer(Role role);

}  // namespace smoe
