// Many requests, one engine: every step computes the next token of all answers and a slice of one
// waiting prompt, so that each layer's experts are read once for all clients.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/token.h"
#include "engine/engine.h"
#include "engine/generation.h"
#include "engine/prefix_store.h"
#include "engine/speed_report.h"
#include "text/token_filter.h"
#include "text/tokenizer.h"

namespace smoe::server {

enum class RequestId : uint64_t {};

struct GenerationRequest {
  std::vector<TokenId> prompt;
  GenerationOptions options;
  // Log-probabilities with each piece, and of so many most likely tokens besides.
  std::optional<uint32_t> top_logprobs = {};
  std::unique_ptr<TokenFilter> filter = nullptr;
};

struct PromptProgress {
  size_t total = 0;   // tokens of the prompt
  size_t cached = 0;  // of these, not computed because a prefix was there
  size_t done = 0;    // of these, cached or computed
  uint64_t spent_ns = 0;
};

// One token of an answer.
struct AnswerPiece {
  TokenId token{};
  std::string_view text;                    // that is certain now; may be empty
  const TokenLogprobs* logprobs = nullptr;  // of this token
  bool last = false;                        // what was held back; `token` means nothing
};

struct GenerationSummary {
  Finish finish = Finish::kStop;
  std::string stop_string;  // that ended it, if one did
  size_t prompt_tokens = 0;
  size_t cached_tokens = 0;  // of the prompt
  size_t answer_tokens = 0;  // the stop token is not counted
  uint64_t queue_ns = 0;     // waited before its prompt began
  uint64_t prompt_ns = 0;    // from there to the first token
  uint64_t decode_ns = 0;    // all tokens after the first
  SpeedReport speed;
};

// Hears of one request. Threads: the scheduler's own; a call must not block and not call back into
// the scheduler, but for cancel() and snapshot(). Lifetime: ends after finished() returns.
class GenerationListener {
 public:
  virtual ~GenerationListener() = default;
  virtual void prompt_progress(const PromptProgress& /*progress*/) {}
  virtual void piece(const AnswerPiece& piece) = 0;
  // The last call, made exactly once for each request that submit() took. A request that was
  // cancelled ends with Finish::kCancelled. Errors: kBusy (the queue's time ran out), kIo, kCorrupt
  // and kNumeric (naming layer and expert: of this request only, others go on), kCancelled (the
  // scheduler stops).
  virtual void finished(Result<GenerationSummary> result) = 0;
};

struct SchedulerOptions {
  uint32_t parallel = 4;    // answers at once; the engine has at least as many sequences
  uint32_t max_queue = 64;  // requests that wait beside them
  uint64_t queue_timeout_ns = 300'000'000'000;  // 0: none
  PrefixStoreOptions disk = {};  // for kept prefixes; its identity is completed by the engine's
};

// What a slot, one of `parallel` places, is busy with.
struct SlotSnapshot {
  enum class State : uint8_t { kIdle, kPrompt, kAnswer };
  State state = State::kIdle;
  RequestId request{};
  size_t prompt_tokens = 0;
  size_t cached_tokens = 0;
  size_t computed_tokens = 0;  // in the KV cache, cached ones included
  size_t answer_tokens = 0;
  uint64_t started_ns = 0;  // now_ns() when its prompt began
};

struct SchedulerSnapshot {
  std::vector<SlotSnapshot> slots;
  size_t queued = 0;
  bool draining = false;

  // Since the scheduler was opened.
  uint64_t requests = 0;  // taken by submit()
  uint64_t finished = 0;
  uint64_t cancelled = 0;      // of these
  uint64_t failed = 0;         // of these
  uint64_t prompt_tokens = 0;  // of requests that have ended
  uint64_t cached_tokens = 0;  // of these, found in the prefix cache
  uint64_t answer_tokens = 0;
  uint64_t prefix_queries = 0;
  uint64_t prefix_hits = 0;
  uint64_t suspended = 0;  // answers that gave their place in the KV cache to an older one

  std::optional<PrefixStoreStats> disk;  // nothing without a folder
  uint64_t kv_pages = 0;
  uint64_t kv_pages_cached = 0;  // held for prefixes alone
  uint64_t kv_pages_free = 0;

  StepStats steps;
  StreamStats stream;
};

class Scheduler {
 public:
  // Starts the engine's thread; nobody else steps the engine or touches its KV cache while the
  // scheduler lives. `engine` and `tokenizer` outlive it.
  // Fails: kUsage (prompt chunks too short for `parallel`, naming both; fewer sequences than that);
  // as PrefixStore::open.
  static Result<std::unique_ptr<Scheduler>> open(Engine& engine, const Tokenizer& tokenizer,
                                                 const SchedulerOptions& options);
  // As stop().
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // Queues a request; they begin in the order of their submission. Threads: any.
  // Fails at once, without a call of the listener: kUsage (an empty prompt, a token outside the
  // vocabulary), kContextFull (naming both numbers), kBusy (the queue is full, or draining).
  Result<RequestId> submit(GenerationRequest request, std::unique_ptr<GenerationListener> listener);

  // Ends a request; its listener hears of it. Of a request that has ended, nothing happens. A step
  // that computes for cancelled requests alone, or mostly for a cancelled prompt, stops within a
  // record; otherwise the request is left out of the next step. Threads: any. Cost: no waiting.
  void cancel(RequestId request);

  // Threads: any. Cost: no waiting for a step; one small copy.
  SchedulerSnapshot snapshot() const;

  // Takes no more requests and waits until all have ended. False when some are left after
  // `timeout_ns`. Threads: any but the scheduler's.
  bool drain(uint64_t timeout_ns);
  // Takes no more requests, ends all at once (kCancelled) and joins the thread.
  void stop();

 private:
  class Impl;
  explicit Scheduler(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace smoe::server
