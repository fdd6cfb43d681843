#version 450
// RMS norm of one group of a row in a workgroup. Thread t sums the squares of elements t, t + 256, …;
// the threads' sums are halved eight times.
#extension GL_GOOGLE_include_directive : require
#include "views.glsl"
#include "squares.glsl"

layout(local_size_x = 256) in;

layout(push_constant) uniform Push {
  Floats rows_in;
  Floats weight;
  Floats rows_out;
  uint in_stride;
  uint out_stride;
  uint group;
  float epsilon;
} push;

shared float partial[256];

void main() {
  uint thread = gl_LocalInvocationID.x;
  uint in_begin = gl_WorkGroupID.y * push.in_stride + gl_WorkGroupID.x * push.group;
  uint out_begin = gl_WorkGroupID.y * push.out_stride + gl_WorkGroupID.x * push.group;
  partial[thread] = sum_of_squares(push.rows_in, in_begin, push.group);
  for (uint half_of = 128u; half_of > 0u; half_of /= 2u) {
    barrier();
    if (thread < half_of) {
      precise float both = partial[thread] + partial[thread + half_of];
      partial[thread] = both;
    }
  }
  barrier();
  precise float mean = partial[0] / float(push.group);
  precise float inverse = 1.0 / sqrt(mean + push.epsilon);
  for (uint i = thread; i < push.group; i += 256u) {
    precise float scaled = push.rows_in.at[in_begin + i] * inverse;
    precise float weighted = scaled * push.weight.at[i];
    push.rows_out.at[out_begin + i] = weighted;
  }
}
