#version 450
// Causal attention of one query (token and head) in a workgroup: one page, 32 positions, is one step
// of the online softmax (Milakov and Gimelshein 2018). Positions after the token's own are left out,
// whatever stands there.
//
// A score is four chains over quarters of the head, then two additions; a step's probabilities are
// halved five times; a value's chain goes over the page's positions in order.
#extension GL_GOOGLE_include_directive : require
#include "views.glsl"
#include "exponential.glsl"

layout(local_size_x = 128) in;

layout(push_constant) uniform Push {
  Floats query;
  Floats pages;
  Indices places;
  Indices page_table;
  Floats rows_out;
  uint query_stride;
  uint out_stride;
  uint heads;
  uint kv_heads;
  uint head_dim;
  float scale;
} push;

const uint kPagePositions = 32;
const uint kMostDim = 512;
const uint kThreads = 128;
shared float scaled_query[kMostDim];
shared float quarters[4][kPagePositions];
shared float scores[kPagePositions];

void main() {
  uint thread = gl_LocalInvocationID.x;
  uint head = gl_WorkGroupID.x;
  uint token = gl_WorkGroupID.y;
  uint dim = push.head_dim;
  uint kv_head = head / (push.heads / push.kv_heads);
  uint position = push.places.at[2u * token];
  uint first_page = push.places.at[2u * token + 1u];

  for (uint d = thread; d < dim; d += kThreads) {
    precise float value = push.query.at[token * push.query_stride + head * dim + d] * push.scale;
    scaled_query[d] = value;
  }
  float sums[kMostDim / kThreads];
  [[unroll]] for (uint i = 0; i < kMostDim / kThreads; ++i) sums[i] = 0.0;
  float maximum = uintBitsToFloat(0xff800000u);
  precise float total = 0.0;
  uint inside = thread % kPagePositions;
  uint quarter = thread / kPagePositions;
  uint quarter_dim = (dim + 3u) / 4u;
  barrier();

  for (uint begin = 0u; begin <= position; begin += kPagePositions) {
    uint count = min(position - begin + 1u, kPagePositions);
    uint page = push.page_table.at[first_page + begin / kPagePositions];
    uint keys = (page * push.kv_heads + kv_head) * 2u * kPagePositions * dim;
    uint values = keys + kPagePositions * dim;

    precise float chain = 0.0;
    if (inside < count) {
      uint end = min((quarter + 1u) * quarter_dim, dim);
      for (uint d = quarter * quarter_dim; d < end; ++d)
        chain = fma(push.pages.at[keys + (inside / 16u * dim + d) * 16u + inside % 16u],
                    scaled_query[d], chain);
    }
    quarters[quarter][inside] = chain;
    barrier();
    if (thread < kPagePositions) {
      precise float low = quarters[0][thread] + quarters[1][thread];
      precise float high = quarters[2][thread] + quarters[3][thread];
      precise float score = low + high;
      scores[thread] = score;
    }
    barrier();

    // Every thread computes the same maximum and sum: cheaper than handing them around.
    float before = maximum;
    for (uint i = 0u; i < count; ++i) maximum = scores[i] > maximum ? scores[i] : maximum;
    float mine = thread < count ? exponential(scores[min(thread, 31u)] - maximum) : 0.0;
    barrier();
    if (thread < kPagePositions) scores[thread] = mine;
    barrier();
    float halves[kPagePositions / 2u];
    [[unroll]] for (uint i = 0u; i < 16u; ++i) {
      precise float both = scores[i] + scores[i + 16u];
      halves[i] = both;
    }
    [[unroll]] for (uint width = 8u; width > 0u; width /= 2u) {
      [[unroll]] for (uint i = 0u; i < width; ++i) {
        precise float both = halves[i] + halves[i + width];
        halves[i] = both;
      }
    }
    float rescale = exponential(before - maximum);
    total = fma(total, rescale, halves[0]);

    [[dont_unroll]] for (uint i = 0u; i < kMostDim / kThreads; ++i) {
      uint d = thread + i * kThreads;
      if (d >= dim) break;
      precise float sum = sums[i] * rescale;
      for (uint at = 0u; at < count; ++at)
        sum = fma(scores[at], push.pages.at[values + at * dim + d], sum);
      sums[i] = sum;
    }
    barrier();
  }
  [[unroll]] for (uint i = 0u; i < kMostDim / kThreads; ++i) {
    uint d = thread + i * kThreads;
    if (d >= dim) break;
    precise float value = sums[i] / total;
    push.rows_out.at[token * push.out_stride + head * dim + d] = value;
  }
}
