#version 450
// onto += the weighted outputs of a token's experts, added up in ascending expert, and then the
// shared expert's. `routing` is what route.comp wrote.
#extension GL_GOOGLE_include_directive : require
#include "views.glsl"

layout(local_size_x = 64) in;
layout(constant_id = 0) const bool kShared = false;

layout(push_constant) uniform Push {
  Floats routing;
  Floats outputs;
  Floats shared_out;
  Floats onto;
  uint routing_stride;
  uint output_stride;
  uint shared_stride;
  uint onto_stride;
  uint active_experts;
  uint width;
} push;

void main() {
  uint column = gl_GlobalInvocationID.x;
  uint token = gl_WorkGroupID.y;
  if (column >= push.width) return;
  uint routing = token * push.routing_stride;
  precise float sum = 0.0;
  for (uint i = 0u; i < push.active_experts; ++i) {
    uint choice = uint(push.routing.at[routing + 2u * push.active_experts + i]);
    precise float value =
        push.routing.at[routing + push.active_experts + choice] *
        push.outputs.at[(token * push.active_experts + choice) * push.output_stride + column];
    sum += value;
  }
  if (kShared) sum += push.shared_out.at[token * push.shared_stride + column];
  precise float all = push.onto.at[token * push.onto_stride + column] + sum;
  push.onto.at[token * push.onto_stride + column] = all;
}
