// What one step computes: tokens, each with its sequence and position, and who hears of the
// results.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"
#include "base/thread_pool.h"
#include "base/token.h"
#include "engine/kv_cache.h"

namespace smoe {

struct BatchToken {
  TokenId token{};
  SequenceId sequence{};
  uint32_t position = 0;
  bool wants_logits = false;  // its next token is not known yet
};

using Batch = std::span<const BatchToken>;

// Receives the results of a step. Spans are valid during the call only.
class StepSink {
 public:
  virtual ~StepSink() = default;
  // Logits [vocabulary] of the batch's token `index`, in ascending order of index.
  virtual void logits(uint32_t index, std::span<const float> values) = 0;
  // With wants_hidden(): the input of layer `layer` (0 is the embedding) for the whole batch,
  // [tokens, width]; layer == number of layers is the state after the final norm.
  virtual bool wants_hidden() const { return false; }
  virtual void hidden(uint32_t /*layer*/, std::span<const float> /*values*/) {}
};

}  // namespace smoe
