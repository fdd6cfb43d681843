// The operations of a device, one struct each. Spans are host memory and are read during the call
// (a device that records must copy them). All activations are f32.
//
// Bits: every output element is a fixed sequence of f32 operations that depends on the shapes, the
// format and, for attention, on the position alone; never on the other rows of the call, the number
// of threads, or where rows lie. docs/kernels.md writes the sequences down; `portable/` is their
// meaning.
#pragma once

#include <cstdint>
#include <span>

#include "base/token.h"
#include "compute/tensor.h"

namespace smoe {

// out[i] = table row tokens[i], as f32.
struct EmbedCall {
  Matrix table;
  std::span<const TokenId> tokens;
  Rows out;
};

// RMS norm (Zhang and Sennrich 2019) of each group of `group` consecutive floats of each row:
// out = in / sqrt(mean(in^2) + epsilon) * weight. weight.width == group; group == in.width for a
// whole-row norm, head_dim for a per-head norm. `out` may be `in`.
struct NormCall {
  Rows in;
  Vector weight;
  uint32_t group;
  float epsilon;
  Rows out;
};

// out = weight . in (+ bias). weight [out.width, in.width].
struct ProjectCall {
  Matrix weight;
  Vector bias;  // may be empty
  Rows in;
  Rows out;
  // Of weights that are not blocks: activations count as they are, even where a device was told to
  // round them. For choices, which must not turn on a rounding.
  bool exact = false;
};

// Rotary embedding in place on `heads` heads of head_dim floats a row; the first `dims` floats of
// each head turn in pairs (i, i + dims/2). angles: one row a token of dims/2 cosines, then dims/2
// sines.
struct RotateCall {
  Rows rows;
  uint32_t heads;
  uint32_t head_dim;
  uint32_t dims;
  Rows angles;
};

// Appends each token's key and value rows [kv_heads * head_dim] to its page.
struct StoreKvCall {
  Rows key;
  Rows value;
  KvPages pages;
  std::span<const TokenPlace> places;
  std::span<const uint32_t> page_table;
};

// Causal attention of each token over positions 0..position of its own sequence, read from the
// pages (the batch's own tokens included, so they are stored first). query/out: [heads * head_dim].
// Query head h reads KV head h / (heads / kv_heads).
struct AttendCall {
  Rows query;
  KvPages pages;
  uint32_t heads;
  float scale;
  std::span<const TokenPlace> places;
  std::span<const uint32_t> page_table;
  Rows out;
};

// A gated feed-forward block: out[i] = down . (silu(gate . x) * (up . x)), x = in.row(rows[i]).
// Used for routed experts, shared experts and dense layers. With an empty `rows`, x = in.row(i).
struct ExpertCall {
  Matrix gate;
  Matrix up;
  Matrix down;
  Rows in;
  std::span<const uint32_t> rows;
  Rows out;  // count = rows.size(), or in.count
};

// out.row(rows[i]) += weights[i] * from.row(i), each element as one multiplication, then one
// addition. rows are distinct. With an empty `rows`, row i; with an empty `weights`, weight 1 (no
// multiplication).
struct AccumulateCall {
  Rows from;
  std::span<const uint32_t> rows;
  std::span<const float> weights;
  Rows out;
};

// out.row(i) = in.row(rows[i]).
struct GatherCall {
  Rows in;
  std::span<const uint32_t> rows;
  Rows out;
};

}  // namespace smoe
