#version 450
// Causal attention of one query (token and head) in a workgroup: eight pages, 256 positions, are one
// step of the online softmax (Milakov and Gimelshein 2018), one position a thread. Positions after
// the token's own are left out, whatever stands there.
//
// A score is four chains over quarters of the head, then two additions. A step's maximum and sum are
// taken over sixteen times sixteen positions in order. A value's chain goes over a page's positions in
// order, and the pages' sums are added in order.
#extension GL_GOOGLE_include_directive : require
#include "views.glsl"
#include "exponential.glsl"

layout(local_size_x = 256) in;
layout(constant_id = 0) const uint kDim = 128;  // of a head

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
  float scale;
} push;

const uint kPagePositions = 32;
const uint kStep = 256;  // positions, and threads
const uint kQuarter = (kDim + 3u) / 4u;
const uint kDims = (kDim + 127u) / 128u * 128u;  // of which a page's 32 threads have four each at once
shared float scaled_query[kDims];
shared float scores[kStep];
shared float sixteenths[16];
shared float page_sums[8 * kDims];

// Loads that are under way at once, over four: one after the other they would cost more than all the
// rest. For the same reason nothing depends on what is only known when the kernel runs.
const uint kAtOnce = 8;

// `key` is the position's first element.
float score_of(uint key) {
  precise float chains[4] = float[4](0.0, 0.0, 0.0, 0.0);
  for (uint first = 0u; first < kQuarter; first += kAtOnce) {
    float loaded[4 * kAtOnce];
    [[unroll]] for (uint i = 0u; i < 4u * kAtOnce; ++i) {
      uint d = (i & 3u) * kQuarter + min(first + i / 4u, kQuarter - 1u);
      loaded[i] = push.pages.at[key + min(d, kDim - 1u) * 16u];
    }
    [[unroll]] for (uint i = 0u; i < 4u * kAtOnce; ++i) {
      uint d = (i & 3u) * kQuarter + first + i / 4u;
      bool counts = first + i / 4u < kQuarter && d < kDim;
      if (kQuarter % kAtOnce == 0u && kDim % 4u == 0u) counts = true;
      if (counts) chains[i & 3u] = fma(loaded[i], scaled_query[d], chains[i & 3u]);
    }
  }
  precise float low = chains[0] + chains[1];
  precise float high = chains[2] + chains[3];
  precise float score = low + high;
  return score;
}

// A page's weighted values in dimensions d, d + 32, d + 64 and d + 96. A score after the last one that
// counts is zero, and the last value stands in for what was never stored.
vec4 values_of(uint values, uint count, uint first_score, uint d) {
  precise vec4 sum = vec4(0.0);
  uvec4 dims = min(uvec4(d, d + 32u, d + 64u, d + 96u), uvec4(kDim - 1u));
  [[dont_unroll]] for (uint first = 0u; first < kPagePositions; first += kAtOnce) {
    vec4 loaded[kAtOnce];
    [[unroll]] for (uint i = 0u; i < kAtOnce; ++i) {
      uint row = values + min(first + i, count - 1u) * kDim;
      [[unroll]] for (int j = 0; j < 4; ++j) loaded[i][j] = push.pages.at[row + dims[j]];
    }
    [[unroll]] for (uint i = 0u; i < kAtOnce; ++i)
      sum = fma(vec4(scores[first_score + first + i]), loaded[i], sum);
  }
  return sum;
}

// Both leave the result to every thread; all of them call it.
float maximum_of_scores() {
  uint thread = gl_LocalInvocationID.x;
  barrier();
  if (thread < 16u) {
    float most = scores[16u * thread];
    [[unroll]] for (uint i = 1u; i < 16u; ++i) most = max(most, scores[16u * thread + i]);
    sixteenths[thread] = most;
  }
  barrier();
  float most = sixteenths[0];
  [[unroll]] for (uint i = 1u; i < 16u; ++i) most = max(most, sixteenths[i]);
  return most;
}

float sum_of_scores() {
  uint thread = gl_LocalInvocationID.x;
  barrier();
  if (thread < 16u) {
    precise float sum = scores[16u * thread];
    [[unroll]] for (uint i = 1u; i < 16u; ++i) sum += scores[16u * thread + i];
    sixteenths[thread] = sum;
  }
  barrier();
  precise float sum = sixteenths[0];
  [[unroll]] for (uint i = 1u; i < 16u; ++i) sum += sixteenths[i];
  return sum;
}

void main() {
  uint thread = gl_LocalInvocationID.x;
  uint head = gl_WorkGroupID.x;
  uint token = gl_WorkGroupID.y;
  uint kv_head = head / (push.heads / push.kv_heads);
  uint position = push.places.at[2u * token];
  uint first_page = push.places.at[2u * token + 1u];
  uint page_of_step = thread / kPagePositions;
  uint inside = thread % kPagePositions;

  for (uint d = thread; d < kDim; d += kStep) {
    precise float value = push.query.at[token * push.query_stride + head * kDim + d] * push.scale;
    scaled_query[d] = value;
  }
  // Of dimension `thread`, and of the one 256 further on.
  float sums[2] = float[2](0.0, 0.0);
  float maximum = uintBitsToFloat(0xff800000u);
  precise float total = 0.0;
  barrier();

  for (uint begin = 0u; begin <= position; begin += kStep) {
    bool counts = begin + thread <= position;
    bool page_counts = begin + page_of_step * kPagePositions <= position;
    uint keys = 0u;
    if (page_counts) {
      uint page = push.page_table.at[first_page + begin / kPagePositions + page_of_step];
      keys = (page * push.kv_heads + kv_head) * 2u * kPagePositions * kDim;
    }
    uint values = keys + kPagePositions * kDim;

    float score = uintBitsToFloat(0xff800000u);
    if (counts) score = score_of(keys + inside / 16u * kDim * 16u + inside % 16u);
    scores[thread] = score;
    float before = maximum;
    maximum = max(maximum, maximum_of_scores());
    scores[thread] = counts ? exponential(score - maximum) : 0.0;
    float rescale = exponential(before - maximum);
    total = fma(total, rescale, sum_of_scores());

    uint page_begin = page_of_step * kPagePositions;
    for (uint d = inside; d < kDims; d += 128u) {
      vec4 four = vec4(0.0);
      if (page_counts) {
        uint count = min(position - begin - page_begin + 1u, kPagePositions);
        four = values_of(values, count, page_begin, d);
      }
      [[unroll]] for (int j = 0; j < 4; ++j) page_sums[page_of_step * kDims + d + 32u * uint(j)] = four[j];
    }
    barrier();
    [[unroll]] for (uint i = 0u; i < 2u; ++i) {
      uint d = thread + i * kStep;
      if (d >= kDim) break;
      precise float sum = page_sums[d];
      [[unroll]] for (uint page = 1u; page < 8u; ++page) sum += page_sums[page * kDims + d];
      precise float next = fma(sums[i], rescale, sum);
      sums[i] = next;
    }
  }
  [[unroll]] for (uint i = 0u; i < 2u; ++i) {
    uint d = thread + i * kStep;
    if (d >= kDim) break;
    precise float value = sums[i] / total;
    push.rows_out.at[token * push.out_stride + head * kDim + d] = value;
  }
}
