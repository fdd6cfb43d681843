#version 450
// Each token's experts, in a workgroup (route.glsl).
#extension GL_GOOGLE_include_directive : require
#include "views.glsl"
#include "exponential.glsl"
#include "route.glsl"

layout(local_size_x = 256) in;
layout(constant_id = 0) const bool kOfChosen = false;
layout(constant_id = 1) const bool kRenormalize = false;

layout(push_constant) uniform Push {
  Floats logits;
  Floats rows_out;
  uint logit_stride;
  uint out_stride;
  uint experts;
  uint active_experts;
  float scale;
} push;

void main() {
  uint token = gl_WorkGroupID.y;
  choose(push.logits, token * push.logit_stride, push.experts, push.active_experts);
  write_routing(push.rows_out, token * push.out_stride, push.experts, push.active_experts, kOfChosen,
                kRenormalize, push.scale);
}
