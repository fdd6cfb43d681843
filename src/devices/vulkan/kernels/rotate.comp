#version 450
// Rotary embedding in place: thread i of a head turns the pair (i, i + dims / 2).
#extension GL_GOOGLE_include_directive : require
#include "views.glsl"

layout(local_size_x = 64) in;

layout(push_constant) uniform Push {
  Floats rows;
  Floats angles;
  uint stride;
  uint angle_stride;
  uint heads;
  uint head_dim;
  uint dims;
} push;

void main() {
  uint half_of = push.dims / 2u;
  uint head = gl_GlobalInvocationID.x / half_of;
  uint i = gl_GlobalInvocationID.x % half_of;
  if (head >= push.heads) return;
  uint at = gl_WorkGroupID.y * push.stride + head * push.head_dim + i;
  uint angle = gl_WorkGroupID.y * push.angle_stride + i;
  float first = push.rows.at[at];
  float second = push.rows.at[at + half_of];
  float cosine = push.angles.at[angle];
  float sine = push.angles.at[angle + half_of];
  precise float a = first * cosine;
  precise float b = second * cosine;
  push.rows.at[at] = fma(-second, sine, a);
  push.rows.at[at + half_of] = fma(first, sine, b);
}
