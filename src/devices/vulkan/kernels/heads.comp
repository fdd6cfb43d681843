#version 450
// What stands between the projections and attention, for one head of one token in a workgroup: RMS
// norm of a query or key head (as in normalize.comp), rotary embedding (as in rotate.comp), and keys
// and values into their page (as in store_kv.comp). Queries stay where they are.
#extension GL_GOOGLE_include_directive : require
#include "views.glsl"

layout(local_size_x = 256) in;
layout(constant_id = 0) const bool kNormed = false;

layout(push_constant) uniform Push {
  Floats query;
  Floats key;
  Floats value;
  Floats query_norm;
  Floats key_norm;
  Floats angles;
  Floats pages;
  Indices places;
  Indices page_table;
  uint query_stride;
  uint key_stride;
  uint value_stride;
  uint angle_stride;
  uint heads_of_kinds;  // of queries, and from bit 16 on of keys
  uint head_dim;
  uint dims;
  float epsilon;
} push;

const uint kPagePositions = 32;
const uint kMostDim = 512;
shared float row[kMostDim];
shared float partial[256];

void main() {
  uint thread = gl_LocalInvocationID.x;
  uint token = gl_WorkGroupID.y;
  uint dim = push.head_dim;
  uint heads = push.heads_of_kinds & 0xffffu;
  uint kv_heads = push.heads_of_kinds >> 16;
  bool is_query = gl_WorkGroupID.x < heads;
  bool is_key = !is_query && gl_WorkGroupID.x < heads + kv_heads;
  uint head = is_query ? gl_WorkGroupID.x
                       : is_key ? gl_WorkGroupID.x - heads : gl_WorkGroupID.x - heads - kv_heads;

  precise float squares = 0.0;
  for (uint d = thread; d < dim; d += 256u) {
    uint at = head * dim + d;
    float element = is_query ? push.query.at[token * push.query_stride + at]
                    : is_key ? push.key.at[token * push.key_stride + at]
                             : push.value.at[token * push.value_stride + at];
    row[d] = element;
    squares = fma(element, element, squares);
  }
  if (kNormed && (is_query || is_key)) {
    partial[thread] = squares;
    for (uint half_of = 128u; half_of > 0u; half_of /= 2u) {
      barrier();
      if (thread < half_of) {
        precise float both = partial[thread] + partial[thread + half_of];
        partial[thread] = both;
      }
    }
    barrier();
    precise float mean = partial[0] / float(dim);
    precise float inverse = 1.0 / sqrt(mean + push.epsilon);
    for (uint d = thread; d < dim; d += 256u) {
      precise float scaled = row[d] * inverse;
      precise float weighted = scaled * (is_query ? push.query_norm.at[d] : push.key_norm.at[d]);
      row[d] = weighted;
    }
  }
  barrier();

  uint position = push.places.at[2u * token];
  uint page = push.page_table.at[push.places.at[2u * token + 1u] + position / kPagePositions];
  uint inside = position % kPagePositions;
  uint begin = (page * kv_heads + head) * 2u * kPagePositions * dim;
  uint half_dims = push.dims / 2u;
  for (uint d = thread; d < dim; d += 256u) {
    float turned = row[d];
    if ((is_query || is_key) && d < push.dims) {
      uint pair = d % half_dims;
      float cosine = push.angles.at[token * push.angle_stride + pair];
      float sine = push.angles.at[token * push.angle_stride + pair + half_dims];
      precise float along = row[d] * cosine;
      float other = d < half_dims ? -row[d + half_dims] : row[d - half_dims];
      turned = fma(other, sine, along);
    }
    if (is_query) {
      push.query.at[token * push.query_stride + head * dim + d] = turned;
    } else if (is_key) {
      push.pages.at[begin + (inside / 16u * dim + d) * 16u + inside % 16u] = turned;
    } else {
      push.pages.at[begin + kPagePositions * dim + inside * dim + d] = turned;
    }
  }
}
