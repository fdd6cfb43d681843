#version 450
// out = weights . in (+ bias), or onto += that, or out = silu(gate . in) * (up . in), for up to kTokens
// rows of `in` at once.
//
// A chain is one fma after the other over consecutive columns; eight chains make a group, one addition
// after the other, and so do the groups. How long a chain is depends on the number of columns alone, so
// the sum of a row has one order whatever else is computed.
//
// Four threads share the 16 rows of a tile and a chain: each load of 16 bytes is one word of four
// rows. So a workgroup's loads of a chain are consecutive, and all its chains are under way. Chains are
// as short as there are threads for: loads take longer than what is done with them.
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_buffer_reference_uvec2 : require
#include "views.glsl"
#include "weights.glsl"
#include "exponential.glsl"
#ifdef SMOE_ROUTED
#include "route.glsl"
#else
#include "squares.glsl"
#endif

// A GPU has the loads of a span under way at once; a software Vulkan would compile them for a minute.
#ifdef SMOE_LOOPED
#define PIECES [[dont_unroll]]
#define CHAIN_PIECES push.chain_pieces
#define TOKENS [[dont_unroll]]
#else
#define PIECES [[unroll]]
#define CHAIN_PIECES kChainPieces
layout(constant_id = 8) const uint kChainPieces = 8;
#define TOKENS [[unroll]]
#endif

layout(local_size_x_id = 9) in;
layout(constant_id = 9) const uint kThreads = 256;
layout(constant_id = 0) const int kFormat = 0;
layout(constant_id = 1) const int kUpFormat = 0;
layout(constant_id = 2) const int kTokens = 1;
layout(constant_id = 3) const bool kGated = false;
layout(constant_id = 4) const bool kRagged = false;  // columns are no multiple of a chain
#ifdef SMOE_ROUTED
layout(constant_id = 5) const bool kChooses = false;  // the experts, too: route.comp's work
layout(constant_id = 6) const bool kOfChosen = false;
layout(constant_id = 7) const bool kRenormalize = false;
#else
layout(constant_id = 5) const bool kNormed = false;  // `in` goes through normalize.comp's norm first
#endif

#ifdef SMOE_ROUTED
// One choice of one token in a workgroup: its expert is what route.comp wrote, and its record lies
// where `records` says.
layout(buffer_reference, std430, buffer_reference_align = 8) readonly buffer Addresses { uvec2 at[]; };
layout(push_constant) uniform Push {
  Addresses records;
  Floats routing;
  Quads rows_in;
  Floats rows_out;
  Floats logits;
  uint weights_begin;  // in a record, in bytes
  uint up_begin;
  uint tile_words;
  uint up_tile_words;
  uint outputs;
  uint columns;
  uint in_stride;
  uint out_stride;
  uint chain_groups;
  uint chain_pieces;
  uint chain_slots;
  uint routing_stride;
  uint active_experts;
  uint choices_share;  // a token's row is the input of all its choices, not one row for each
  uint logit_stride;
  uint experts;
  float scale;
} push;
#else
layout(push_constant) uniform Push {
  Words weights;
  Words up;
  Floats bias;
  Quads rows_in;
  Indices chosen;
  Floats rows_out;
  Floats onto;
  Quads norm;
  Floats normed;
  uint tile_words;     // from a tile to the next, in words of 16 bytes
  uint up_tile_words;
  uint outputs;
  uint columns;
  uint in_stride;  // in words of 16 bytes
  uint out_stride;
  uint tokens;
  uint chain_groups;  // a chain is so many times
  uint chain_pieces;  // so many pieces of four columns
  uint chain_slots;   // chains of a tile, rounded up to groups of eight
  uint out_kinds_stride;  // of `onto`, or of `normed`
  uint flags;
  float epsilon;
} push;
const uint kHasBias = 1u, kHasChosen = 2u, kHasOnto = 4u, kWritesNormed = 8u;
#endif

const uint kChains = kThreads / 4u;
shared vec4 partial[kChains][4];

Words weights;
Words up_weights;
vec4 sums[kTokens];
vec4 up_sums[kTokens];
uint token_rows[kTokens];
#ifndef SMOE_ROUTED
float inverses[kTokens];
shared float norm_partial[256];
#endif

// A row's stride is a multiple of four words, so a piece that begins inside the row lies inside it;
// what is behind the last column may be anything and counts as zero.
vec4 activations(int token, uint column) {
  vec4 found = push.rows_in.at[token_rows[token] * push.in_stride + column / 4u];
#ifndef SMOE_ROUTED
  if (kNormed) {
    precise vec4 scaled = found * inverses[token];
    precise vec4 weighted = scaled * push.norm.at[column / 4u];
    found = weighted;
  }
#endif
  if (kRagged) {
    [[unroll]] for (uint i = 1u; i < 4u; ++i)
      if (column + i >= push.columns) found[i] = 0.0;
  }
  return found;
}

vec4 chain_step(vec4 sum, mat4 matrix, vec4 x) {
  precise vec4 next = sum;
  [[unroll]] for (int i = 0; i < 4; ++i)
    next = fma(vec4(matrix[0][i], matrix[1][i], matrix[2][i], matrix[3][i]), vec4(x[i]), next);
  return next;
}

void multiply_pieces(uint tile, uint up_tile, uint begin, uint group) {
  PIECES for (uint piece = 0; piece < CHAIN_PIECES; ++piece) {
    uint column = begin + 4u * piece;
    if (kRagged && column >= push.columns) break;
    mat4 matrix = decode(kFormat, weights, tile, column, push.columns, group);
    mat4 up = kGated ? decode(kUpFormat, up_weights, up_tile, column, push.columns, group) : mat4(0);
    TOKENS for (int token = 0; token < kTokens; ++token) {
      vec4 x = activations(token, column);
      sums[token] = chain_step(sums[token], matrix, x);
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
  for (uint at = gl_LocalInvocationID.x; at < kChains / 8u * 16u; at += kThreads) {
    uint first = at / 16u * 8u;
    precise float sum = partial[first][at % 16u / 4u][at & 3u];
    [[unroll]] for (uint i = 1; i < 8u; ++i) sum += partial[first + i][at % 16u / 4u][at & 3u];
    partial[first][at % 16u / 4u][at & 3u] = sum;
  }
  barrier();
  precise float sum = 0.0;
  if (whole) {
    sum = partial[first_slot][row / 4u][row & 3u];
    [[unroll]] for (uint i = 8u; i < 128u; i += 8u)
      if (i < push.chain_slots) sum += partial[first_slot + i][row / 4u][row & 3u];
  }
  return sum;
}

#ifdef SMOE_ROUTED
Words part_of(uvec2 record, uint begin) {
  uint carry;
  uint low = uaddCarry(record.x, begin, carry);
  return Words(uvec2(low, record.y + carry));
}

void prepare(uint choice) {
  uint token = choice / push.active_experts;
  uint rank = choice % push.active_experts;
  uint routing = token * push.routing_stride;
  uint expert;
  if (kChooses) {
    choose(push.logits, token * push.logit_stride, push.experts, push.active_experts);
    expert = chosen[rank];
    if (rank == 0u && gl_WorkGroupID.x == 0u)
      write_routing(push.routing, routing, push.experts, push.active_experts, kOfChosen, kRenormalize,
                    push.scale);
  } else {
    expert = uint(push.routing.at[routing + rank]);
  }
  uvec2 record = push.records.at[expert];
  weights = part_of(record, push.weights_begin);
  up_weights = part_of(record, push.up_begin);
  token_rows[0] = push.choices_share != 0u ? token : choice;
  sums[0] = vec4(0);
  up_sums[0] = vec4(0);
}
#else
// Of a row, as normalize.comp computes it.
float inverse_of(uint row) {
  uint thread = gl_LocalInvocationID.x;
  barrier();
  if (thread < 256u)
    norm_partial[thread] =
        sum_of_squares(Floats(push.rows_in), row * push.in_stride * 4u, push.columns);
  for (uint half_of = 128u; half_of > 0u; half_of /= 2u) {
    barrier();
    if (thread < half_of) {
      precise float both = norm_partial[thread] + norm_partial[thread + half_of];
      norm_partial[thread] = both;
    }
  }
  barrier();
  precise float mean = norm_partial[0] / float(push.columns);
  precise float inverse = 1.0 / sqrt(mean + push.epsilon);
  return inverse;
}

void write_normed(uint row, int token) {
  for (uint i = gl_LocalInvocationID.x; i < push.columns; i += kThreads) {
    precise float scaled = push.rows_in.at[row * push.in_stride + i / 4u][i & 3u] * inverses[token];
    precise float weighted = scaled * push.norm.at[i / 4u][i & 3u];
    push.normed.at[row * push.out_kinds_stride + i] = weighted;
  }
}

void prepare(uint first_token) {
  weights = push.weights;
  up_weights = push.up;
  TOKENS for (int token = 0; token < kTokens; ++token) {
    uint row = min(first_token + uint(token), push.tokens - 1u);
    token_rows[token] = (push.flags & kHasChosen) != 0u ? push.chosen.at[row] : row;
    sums[token] = vec4(0);
    up_sums[token] = vec4(0);
    if (kNormed) {
      inverses[token] = inverse_of(token_rows[token]);
      if ((push.flags & kWritesNormed) != 0u && gl_WorkGroupID.x == 0u)
        write_normed(token_rows[token], token);
    }
  }
}
#endif

void main() {
  uint slot = gl_LocalInvocationID.x / 4u;
  uint group = gl_LocalInvocationID.x & 3u;
  uint tiles_here = kChains / push.chain_slots;
  uint tile_count = (push.outputs + 15u) / 16u;
  uint tile = gl_WorkGroupID.x * tiles_here + slot / push.chain_slots;
  uint chain = slot % push.chain_slots;
  uint first_token = gl_WorkGroupID.y * uint(kTokens);
  prepare(first_token);
  if (slot / push.chain_slots < tiles_here && tile < tile_count) {
    uint begin = chain * push.chain_groups * CHAIN_PIECES * 4u;
    [[dont_unroll]] for (uint i = 0u; i < push.chain_groups && begin < push.columns; ++i) {
      multiply_pieces(tile * push.tile_words, tile * push.up_tile_words, begin, group);
      begin += CHAIN_PIECES * 4u;
    }
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
    uint row = first_token + uint(token);
#ifdef SMOE_ROUTED
    if (!writes) continue;
    push.rows_out.at[row * push.out_stride + out_row] = sum;
#else
    if (!writes || row >= push.tokens) continue;
    if ((push.flags & kHasBias) != 0u) sum += push.bias.at[out_row];
    if ((push.flags & kHasOnto) != 0u) {
      precise float all = push.onto.at[row * push.out_kinds_stride + out_row] + sum;
      push.onto.at[row * push.out_kinds_stride + out_row] = all;
    } else {
      push.rows_out.at[row * push.out_stride + out_row] = sum;
    }
#endif
  }
}
