// ModelSpec: everything the engine needs to know about a model, with no model's name in it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/rules.h"

namespace smoe {

struct AttentionSpec {
  AttentionKind kind = AttentionKind::kGrouped;
  uint32_t heads = 0;
  uint32_t kv_heads = 0;
  uint32_t head_dim = 0;
  bool qkv_bias = false;
  bool output_bias = false;
  QkNorm qk_norm = QkNorm::kNone;
  float scale = 0;  // of q.k: 1/sqrt(head_dim) unless the model says otherwise
  friend bool operator==(const AttentionSpec&, const AttentionSpec&) = default;
};

struct RopeSpec {
  RopeKind kind = RopeKind::kDefault;
  double theta = 0;
  uint32_t dims = 0;  // rotated dimensions of a head
  friend bool operator==(const RopeSpec&, const RopeSpec&) = default;
};

struct RouterSpec {
  Score score = Score::kSoftmaxThenTopK;
  uint32_t active_experts = 0;  // top-k
  bool renormalize = false;     // divide the kept weights by their sum
  float scale = 1;              // applied to the final weights
  friend bool operator==(const RouterSpec&, const RouterSpec&) = default;
};

struct FfnSpec {
  FfnKind kind = FfnKind::kDense;
  Activation activation = Activation::kSilu;
  uint32_t width = 0;    // of a dense layer, or of one routed expert
  uint32_t experts = 0;  // 0 for a dense layer
  RouterSpec router;
  uint32_t shared_width = 0;  // of the shared expert(s) taken as one; 0 without
  bool shared_gated = false;  // its output times sigmoid(gate . x)
  friend bool operator==(const FfnSpec&, const FfnSpec&) = default;
};

struct LayerSpec {
  AttentionSpec attention;
  RopeSpec rope;
  FfnSpec ffn;
  friend bool operator==(const LayerSpec&, const LayerSpec&) = default;
};

struct ModelSpec {
  std::string family;  // for people only; the engine never reads it
  uint32_t width = 0;  // d_model
  uint32_t vocabulary = 0;
  uint32_t context = 0;  // positions the model was trained for
  float norm_epsilon = 0;
  bool tied_head = false;  // the LM head is the embedding
  std::vector<uint32_t> bos;
  std::vector<uint32_t> eos;
  std::vector<LayerSpec> layers;
  friend bool operator==(const ModelSpec&, const ModelSpec&) = default;

  std::string to_json() const;
  // Fails: kCorrupt, kUnsupported (a rule this build does not know, by name). Every accepted spec
  // has consistent, bounded dimensions (check()).
  static Result<ModelSpec> from_json(std::string_view text);
  // heads divisible by kv_heads, even rope dims <= head_dim, 1 <= top-k <= experts, products that
  // fit, finite positive eps/theta/scale, at least one layer. Fails: kCorrupt naming layer and
  // field.
  Status check() const;

  uint32_t expert_layers() const;
  uint64_t parameters() const;         // all weights
  uint64_t active_parameters() const;  // those that one token uses
};

}  // namespace smoe
