// Which tensors a model of a given spec has: roles, their names in a scout, and their shapes.
#pragma once

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

}  // namespace smoe
