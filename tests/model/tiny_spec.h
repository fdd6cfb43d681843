// A spec with one dense layer and one with everything that a layer may have.
#pragma once

#include "model/spec.h"

namespace smoe::test {

inline LayerSpec dense_layer() {
  LayerSpec layer;
  layer.attention.heads = 4;
  layer.attention.kv_heads = 2;
  layer.attention.head_dim = 8;
  layer.attention.scale = 0.35355338F;
  layer.rope.theta = 10000;
  layer.rope.dims = 8;
  layer.ffn.width = 64;
  return layer;
}

inline LayerSpec expert_layer() {
  LayerSpec layer = dense_layer();
  layer.attention.qkv_bias = true;
  layer.ffn.kind = FfnKind::kExperts;
  layer.ffn.width = 24;
  layer.ffn.experts = 8;
  layer.ffn.router.active_experts = 2;
  layer.ffn.router.renormalize = true;
  layer.ffn.shared_width = 40;
  layer.ffn.shared_gated = true;
  return layer;
}

inline ModelSpec tiny_spec() {
  ModelSpec spec;
  spec.family = "tiny";
  spec.width = 32;
  spec.vocabulary = 48;
  spec.context = 128;
  spec.norm_epsilon = 1e-6F;
  spec.bos = {0};
  spec.eos = {1};
  spec.layers = {dense_layer(), expert_layer()};
  return spec;
}

}  // namespace smoe::test
