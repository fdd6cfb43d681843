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

// out = weight . in (+ bias). weight [out.width, in.width]. With `onto`, onto += that, one addition
// for each element, and `out` is room that has no meaning afterwards.
struct ProjectCall {
  Matrix weight;
  Vector bias;  // may be empty
  Rows in;
  Rows out;
  // Of weights that are not blocks: activations count as they are, even where a device was told to
  // round them. For choices, which must not turn on a rounding.
  bool exact = false;
  Rows onto = {};  // may be empty
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

// What stands between the projections and attention: per-head norms (NormCall) of queries and keys
// where there are weights for them, rotary embedding (RotateCall) of both, keys and values into
// their pages (StoreKvCall). Queries stay in `query`; `key` has no meaning afterwards.
struct HeadsCall {
  Rows query;
  Rows key;
  Rows value;
  uint32_t heads;     // of `query`; pages.kv_heads of the others
  Vector query_norm;  // may be empty, and so may key_norm
  Vector key_norm;
  float epsilon;
  uint32_t dims;
  Rows angles;
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

// Which experts a device with routes() runs for each token: the `active_experts` largest logits,
// ties to the lower index, and their weights: softmax over all logits or over the chosen ones,
// divided by the sum of the chosen weights where `renormalize`, times `scale`. A row of `out`, of
// width 3 * active_experts, has the experts, best first; their weights; and which of them comes
// first, second, … in ascending expert. Weights are not finite where a logit is not.
struct RouteCall {
  Rows logits;  // as wide as there are experts
  uint32_t active_experts;
  bool softmax_of_chosen;
  bool renormalize;
  float scale;
  Rows out;
};

// A layer's experts on a device with routes(), all of whose records are there: chosen by index on
// the device, as route() left it. onto += the weighted outputs of each token's experts, added up in
// ascending expert, then `shared`. Serves few tokens: each choice reads its expert's weights.
struct RoutedCall {
  View table;   // [experts] addresses of records, put there by place_record() after their bytes
  Matrix gate;  // views count from a record's begin
  Matrix up;
  Matrix down;
  Rows in;
  Rows routing;
  uint32_t active_experts;
  Rows shared;   // may be empty
  Rows hidden;   // room: active_experts rows a token, as wide as gate.rows
  Rows outputs;  // the same, as wide as `onto`
  Rows onto;
};

}  // namespace smoe
