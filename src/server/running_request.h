// A request that has a slot: its tokens, how many of them the KV cache holds, and its answer.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/token.h"
#include "engine/answer.h"
#include "engine/engine.h"
#include "engine/prefix_tree.h"
#include "server/scheduler.h"

namespace smoe::server {

// One that waits for a slot.
struct QueuedRequest {
  RequestId id{};
  GenerationRequest request;
  std::unique_ptr<GenerationListener> listener;
  uint64_t submitted_ns = 0;
};

// What a step took of the machine.
struct StepCost {
  uint64_t step_ns = 0;
  uint64_t stall_ns = 0;
  uint64_t hits = 0;
  uint64_t misses = 0;
  uint64_t bytes_read = 0;
};

// Threads: the scheduler's own.
class RunningRequest {
 public:
  RunningRequest(QueuedRequest queued, SequenceId sequence, Engine& engine,
                 const Tokenizer& tokenizer, SamplerWork& work);

  RequestId id() const { return id_; }
  SequenceId sequence() const { return sequence_; }
  const std::vector<TokenId>& tokens() const { return tokens_; }  // the prompt, then what was drawn
  uint32_t computed() const { return computed_; }                 // of these, in the KV cache
  uint32_t remaining() const { return static_cast<uint32_t>(tokens_.size()) - computed_; }
  // It waits for the next token of its answer, not for its prompt.
  bool answering() const { return remaining() == 1 && computed_ > 0; }
  bool attached() const { return attached_; }
  bool suspended() const { return suspended_; }
  bool ended() const { return error_ || answer_.finish(); }

  // Takes what the tree has of its tokens.
  void attach(PrefixTree& tree);
  // Gives its pages to the tree, and goes on once resume() was called.
  void suspend(PrefixTree& tree);
  void resume() { suspended_ = false; }

  // A step has computed its next `rows` tokens.
  void advance(uint32_t rows, PrefixTree& tree);
  // Draws from the logits of its last token. Cost: allocates, but nothing of the engine's.
  void draw(std::span<const float> logits);
  void add_cost(const StepCost& cost, double share);
  void fail(Error error) { error_ = std::move(error); }
  void cancel() {
    if (!ended()) answer_.end(Finish::kCancelled);
  }

  // Tells the listener what is new.
  void tell();
  // Tells it the end, and closes the sequence. `limited_by_ring`: waits for records could have been
  // avoided with more memory.
  void end(PrefixTree& tree, bool limited_by_ring);

  SlotSnapshot snapshot() const;
  size_t prompt_tokens() const { return prompt_tokens_; }
  size_t cached_tokens() const { return cached_tokens_; }
  size_t answer_tokens() const { return answer_.tokens().size(); }
  bool cancelled() const { return !error_ && answer_.finish() == Finish::kCancelled; }
  bool failed() const { return error_.has_value(); }

 private:
  GenerationSummary summary(bool limited_by_ring);

  RequestId id_;
  std::unique_ptr<GenerationListener> listener_;
  SequenceId sequence_;
  Engine& engine_;
  std::vector<TokenId> tokens_;
  size_t prompt_tokens_;
  std::optional<uint32_t> top_logprobs_;
  Answer answer_;
  uint32_t computed_ = 0;
  bool attached_ = false;
  bool suspended_ = false;
  std::optional<Error> error_;

  // For the listener.
  std::optional<TokenId> drawn_;
  std::optional<TokenLogprobs> logprobs_;
  bool progressed_ = false;
  bool answer_begun_ = false;

  size_t cached_tokens_ = 0;
  uint64_t submitted_ns_;
  uint64_t began_ns_ = 0;
  uint64_t first_token_ns_ = 0;
  double hits_ = 0;
  double misses_ = 0;
  double bytes_ = 0;
  SpeedReport speed_;
};

}  // namespace smoe::server
