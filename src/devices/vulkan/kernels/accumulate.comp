#version 450
// out.row(chosen[i]) += weights[i] * from.row(i), one multiplication, then one addition; or, with
// kCopy, out.row(i) = from.row(chosen[i]).
#extension GL_GOOGLE_include_directive : require
#include "views.glsl"

layout(local_size_x = 64) in;
layout(constant_id = 0) const bool kCopy = false;

layout(push_constant) uniform Push {
  Floats from;
  Indices chosen;
  Floats weights;
  Floats rows_out;
  uint from_stride;
  uint out_stride;
  uint width;
  uint has_chosen;
  uint has_weights;
} push;

void main() {
  uint column = gl_GlobalInvocationID.x;
  uint row = gl_WorkGroupID.y;
  if (column >= push.width) return;
  uint chosen = push.has_chosen != 0u ? push.chosen.at[row] : row;
  if (kCopy) {
    push.rows_out.at[row * push.out_stride + column] =
        push.from.at[chosen * push.from_stride + column];
    return;
  }
  precise float value = push.from.at[row * push.from_stride + column];
  if (push.has_weights != 0u) value = push.weights.at[row] * value;
  uint at = chosen * push.out_stride + column;
  precise float sum = push.rows_out.at[at] + value;
  push.rows_out.at[at] = sum;
}
