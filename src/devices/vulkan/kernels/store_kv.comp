#version 450
// Puts each token's keys and values into its page (compute/tensor.h has the places).
#extension GL_GOOGLE_include_directive : require
#include "views.glsl"

layout(local_size_x = 64) in;

layout(push_constant) uniform Push {
  Floats key;
  Floats value;
  Floats pages;
  Indices places;  // position and first index of the page table, for each token
  Indices page_table;
  uint key_stride;
  uint value_stride;
  uint kv_heads;
  uint head_dim;
} push;

const uint kPagePositions = 32;

void main() {
  uint element = gl_GlobalInvocationID.x;
  uint token = gl_WorkGroupID.y;
  if (element >= push.kv_heads * push.head_dim) return;
  uint head = element / push.head_dim;
  uint d = element % push.head_dim;
  uint position = push.places.at[2u * token];
  uint page = push.page_table.at[push.places.at[2u * token + 1u] + position / kPagePositions];
  uint inside = position % kPagePositions;
  uint begin = (page * push.kv_heads + head) * 2u * kPagePositions * push.head_dim;
  uint key_at = begin + (inside / 16u * push.head_dim + d) * 16u + inside % 16u;
  uint value_at = begin + kPagePositions * push.head_dim + inside * push.head_dim + d;
  push.pages.at[key_at] = push.key.at[token * push.key_stride + element];
  push.pages.at[value_at] = push.value.at[token * push.value_stride + element];
}
