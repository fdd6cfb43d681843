#version 450
// out = weights . in (+ bias), or silu(gate . in) * (up . in), for up to kTokens rows of `in` at once.
//
// A chain is one fma after the other over the columns of consecutive spans of 32; eight chains make
// a group, one addition after the other, and so do the groups. How many spans a chain has depends on
// the number of columns alone, so the sum of a row has one order whatever else is computed.
//
// Four threads share the 16 rows of a tile and a chain: each load of 16 bytes is one word of four
// rows. So a workgroup's loads of a chain are consecutive, and 64 chains are under way.
#extension GL_GOOGLE_include_directive : require
#include "views.glsl"
#include "weights.glsl"
#include "exponential.glsl"

// A GPU has the loads of a span under way at once; a software Vulkan would compile them for a minute.
#ifdef SMOE_LOOPED
#define PIECES [[dont_unroll]]
#define TOKENS [[dont_unroll]]
#else
#define PIECES [[unroll]]
#define TOKENS [[unroll]]
#endif

layout(local_size_x = 256) in;
layout(constant_id = 0) const int kFormat = 0;
layout(constant_id = 1) const int kUpFormat = 0;
layout(constant_id = 2) const int kTokens = 1;
layout(constant_id = 3) const bool kGated = false;
layout(constant_id = 4) const bool kRagged = false;  // columns are no multiple of a span

layout(push_constant) uniform Push {
  Words weights;
  Words up;
  Floats bias;
  Quads rows_in;
  Indices chosen;
  Floats rows_out;
  uint tile_words;     // from a tile to the next, in words of 16 bytes
  uint up_tile_words;
  uint outputs;
  uint columns;
  uint in_stride;  // in words of 16 bytes
  uint out_stride;
  uint tokens;
  uint chain_spans;
  uint chain_slots;  // chains of a tile, rounded up to groups of eight
  uint has_bias;
  uint has_chosen;
} push;

const uint kChains = 64;
shared vec4 partial[kChains][4];

vec4 sums[kTokens];
vec4 up_sums[kTokens];
uint token_rows[kTokens];

// A row's stride is a multiple of four words, so a piece that begins inside the row lies inside it;
// what is behind the last column may be anything and counts as zero.
vec4 activations(uint row, uint column) {
  vec4 found = push.rows_in.at[row * push.in_stride + column / 4u];
  if (kRagged) {
    [[unroll]] for (uint i = 1u; i < 4u; ++i)
      if (column + i >= push.columns) found[i] = 0.0;
  }
  return found;
}

vec4 chain_step(vec4 sum, mat4 weights, vec4 x) {
  precise vec4 next = sum;
  [[unroll]] for (int i = 0; i < 4; ++i)
    next = fma(vec4(weights[0][i], weights[1][i], weights[2][i], weights[3][i]), vec4(x[i]), next);
  return next;
}

void multiply_span(uint tile, uint up_tile, uint span, uint group) {
  PIECES for (uint piece = 0; piece < kSpan / 4u; ++piece) {
    uint column = span * kSpan + 4u * piece;
    if (kRagged && column >= push.columns) break;
    mat4 weights = decode(kFormat, push.weights, tile, column, push.columns, group);
    mat4 up = kGated ? decode(kUpFormat, push.up, up_tile, column, push.columns, group) : mat4(0);
    TOKENS for (int token = 0; token < kTokens; ++token) {
      vec4 x = activations(token_rows[token], column);
      sums[token] = chain_step(sums[token], weights, x);
      if (kGated) up_sums[token] = chain_step(up_sums[token], up, x);
    }
  }
}

// The sum of a tile's chains, for the thread whose `row` it is.
float sum_chains(vec4 mine, uint slot, uint group, uint first_slot, uint row, bool whole) {
  barrier();
  partial[slot][group] = mine;
  barrier();
  // Each group of eight chains into its first place: row by row, one thread each.
  for (uint at = gl_LocalInvocationID.x; at < kChains / 8u * 16u; at += 256u) {
    uint first = at / 16u * 8u;
    precise float sum = partial[first][at % 16u / 4u][at & 3u];
    for (uint i = 1; i < 8u; ++i) sum += partial[first + i][at % 16u / 4u][at & 3u];
    partial[first][at % 16u / 4u][at & 3u] = sum;
  }
  barrier();
  precise float sum = 0.0;
  if (whole) {
    sum = partial[first_slot][row / 4u][row & 3u];
    for (uint i = 8u; i < push.chain_slots; i += 8u)
      sum += partial[first_slot + i][row / 4u][row & 3u];
  }
  return sum;
}

void main() {
  uint slot = gl_LocalInvocationID.x / 4u;
  uint group = gl_LocalInvocationID.x & 3u;
  uint tiles_here = kChains / push.chain_slots;
  uint tile_count = (push.outputs + 15u) / 16u;
  uint tile = gl_WorkGroupID.x * tiles_here + slot / push.chain_slots;
  uint chain = slot % push.chain_slots;
  uint first_token = gl_WorkGroupID.y * uint(kTokens);

  TOKENS for (int token = 0; token < kTokens; ++token) {
    uint row = min(first_token + uint(token), push.tokens - 1u);
    token_rows[token] = push.has_chosen != 0u ? push.chosen.at[row] : row;
    sums[token] = vec4(0);
    up_sums[token] = vec4(0);
  }
  uint spans = (push.columns + kSpan - 1u) / kSpan;
  if (slot / push.chain_slots < tiles_here && tile < tile_count) {
    uint end = min((chain + 1u) * push.chain_spans, spans);
    for (uint span = chain * push.chain_spans; span < end; ++span)
      multiply_span(tile * push.tile_words, tile * push.up_tile_words, span, group);
  }

  // One thread a row of the workgroup's tiles.
  uint local_tile = gl_LocalInvocationID.x / 16u;
  uint out_row = (gl_WorkGroupID.x * tiles_here + local_tile) * 16u + (gl_LocalInvocationID.x & 15u);
  bool writes = local_tile < tiles_here && out_row < push.outputs;
  TOKENS for (int token = 0; token < kTokens; ++token) {
    precise float sum = sum_chains(sums[token], slot, group, local_tile * push.chain_slots,
                                   gl_LocalInvocationID.x & 15u, writes);
    if (kGated) {
      float up = sum_chains(up_sums[token], slot, group, local_tile * push.chain_slots,
                            gl_LocalInvocationID.x & 15u, writes);
      sum = sum / (1.0 + exponential(-sum)) * up;
    }
    if (!writes || first_token + uint(token) >= push.tokens) continue;
    if (push.has_bias != 0u) sum += push.bias.at[out_row];
    push.rows_out.at[(first_token + uint(token)) * push.out_stride + out_row] = sum;
  }
}
