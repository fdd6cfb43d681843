// The step's working memory: sized once for the longest chunk, on the device and beside it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "compute/device.h"
#include "compute/tensor.h"
#include "engine/router.h"
#include "model/spec.h"

namespace smoe {

// LM-head rows that are computed at once: a prompt whose every position is scored needs no more
// memory than this many rows of logits.
inline constexpr uint32_t kHeadRows = 8;
// Tokens whose experts a device runs by index (Device::run_routed): for more it is cheaper to read
// each expert once for all its tokens.
inline constexpr uint32_t kFewTokens = 8;

struct Scratch {
  // Device rows; each is as long as the chunk unless noted.
  Rows hidden;  // the residual stream
  Rows normed;
  Rows query, key, value, attended;
  Rows angles;             // cosines and sines of the batch's positions
  Rows router;             // logits of the current MoE layer
  Rows routed;             // and what the device chose by them (RouteCall)
  Rows expert_hidden;      // a row for each expert of each of kFewTokens tokens
  Rows shared_gate;        // one float a row
  Rows ffn_out;            // sum of the routed experts, or a dense layer's output
  Rows shared_out;         // only where a layer has a shared expert
  Rows expert_out;         // of the expert whose turn it is
  Rows held;               // of experts that came before their turn; held_rows() long
  Rows head_in, head_out;  // kHeadRows long

  // Host memory.
  std::vector<TokenId> tokens;
  std::vector<TokenPlace> places;
  std::vector<float> angle_values;
  std::vector<float> router_values;
  std::vector<float> routed_values;
  std::vector<float> shared_values;
  std::vector<float> logit_values;
  std::vector<uint32_t> head_rows;
  std::vector<float> inverse_frequencies;
  Routing routing;
  Routing bet_routing;  // a guess at the next layer's
  RouterWork router_work;

  Buffer buffer;

  static uint64_t bytes_for(const ModelSpec& spec, uint32_t rows);
  static Device::Limits limits_for(const ModelSpec& spec, uint32_t rows, uint32_t context);
  // Fails: kNoMemory.
  static Status allocate(const ModelSpec& spec, uint32_t rows, Device& device, Scratch& scratch);
};

}  // namespace smoe
