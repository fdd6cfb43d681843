#version 450
// out[i] = table row tokens[i].
#extension GL_GOOGLE_include_directive : require
#include "views.glsl"
#include "weights.glsl"

layout(local_size_x = 64) in;
layout(constant_id = 0) const int kFormat = 0;

layout(push_constant) uniform Push {
  Words table;
  Indices tokens;
  Floats rows_out;
  uint tile_words;
  uint columns;
  uint out_stride;
} push;

void main() {
  uint column = gl_GlobalInvocationID.x * 4u;
  uint token = gl_WorkGroupID.y;
  if (column >= push.columns) return;
  uint row = push.tokens.at[token];
  mat4 four = decode(kFormat, push.table, row / 16u * push.tile_words, column, push.columns,
                     row % 16u / 4u);
  for (uint i = 0; i < 4u && column + i < push.columns; ++i)
    push.rows_out.at[token * push.out_stride + column + i] = four[row & 3u][i];
}
