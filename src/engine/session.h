// One growing token stream: its place in the KV cache and the logits of its last token.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/thread_pool.h"
#include "base/token.h"
#include "engine/engine.h"

namespace smoe {

class Session {
 public:
  using Progress = FunctionRef<void(size_t done, size_t total)>;

  // Lifetime: ends before the engine. Fails: kUsage when all sequences are open.
  static Result<Session> open(Engine& engine);
  Session(Session&& other) noexcept;
  Session& operator=(Session&&) = delete;
  ~Session();

  // Computes `tokens` in chunks after those that are there; logits() are then those of the last
  // one. On failure the session is as it was before the call. Fails: kContextFull (naming both
  // numbers) before any work; kUsage for a token id outside the vocabulary; and as Step::run. Cost:
  // no allocation.
  Status append(std::span<const TokenId> tokens, Progress progress);
  Status append(TokenId token) {
    return append(std::span(&token, 1), [](size_t, size_t) {});
  }
  // As append, and `sink` hears of every position's logits (and hidden states): `index` counts from
  // the first of `tokens`.
  Status score(std::span<const TokenId> tokens, StepSink& sink, Progress progress);

  // Forgets all but the first `count` tokens; logits() is empty until the next append.
  void rewind(size_t count);

  std::span<const float> logits() const { return logits_; }
  std::span<const TokenId> tokens() const { return tokens_; }
  // Tokens that still fit.
  size_t room() const { return engine_->context() - tokens_.size(); }

 private:
  class LastLogits;
  Session(Engine& engine, SequenceId sequence);
  Status check(std::span<const TokenId> tokens) const;
  Status run(std::span<const TokenId> tokens, bool all_logits, StepSink& sink, Progress progress);

  Engine* engine_;
  SequenceId sequence_;
  std::vector<TokenId> tokens_;
  std::vector<float> logits_;
  std::vector<BatchToken> batch_;
};

}  // namespace smoe
