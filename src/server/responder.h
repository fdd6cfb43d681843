// The side of an API that speaks: from the events of an answer to the bytes that its clients
// expect, streamed or at once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/speed_report.h"
#include "server/answer_parser.h"
#include "server/api_error.h"
#include "server/http_server.h"

namespace smoe::server {

struct TokenChance {
  std::string text;              // the token's bytes, perhaps half a character
  std::optional<float> logprob;  // nothing for minus infinity
};

struct TokenLogprob {
  TokenChance chosen;
  std::vector<TokenChance> top;  // the likeliest, and the chosen one among them
};

enum class StopReason : uint8_t { kEnd, kStopString, kLength, kToolCalls };

// What one answer took.
struct AnswerCost {
  uint64_t prompt_tokens = 0;
  uint64_t cached_tokens = 0;  // of the prompt: nothing had to be computed for them
  uint64_t completion_tokens = 0;
  uint64_t reasoning_tokens = 0;
  double queue_ms = 0;
  double prompt_ms = 0;
  double predicted_ms = 0;
  uint64_t expert_hits = 0;
  uint64_t expert_misses = 0;
  uint64_t expert_bytes_read = 0;
  double expert_stall_ms = 0;
  Limit limited_by = Limit::kNone;
};

struct AnswerEnd {
  StopReason reason = StopReason::kEnd;
  std::string stop_string;  // with kStopString
  AnswerCost cost;
};

struct PromptStatus {
  uint64_t total = 0;
  uint64_t cached = 0;
  uint64_t processed = 0;
  uint64_t time_ms = 0;
};

// One request's answers, collected: all that an answer in one piece needs.
struct CollectedAnswer {
  std::string text;
  std::string reasoning;
  std::vector<std::pair<std::string, ToolCall>> calls;  // with their ids
  std::vector<TokenLogprob> logprobs;
  AnswerEnd end;
};

// Threads: any, one call at a time.
class Responder {
 public:
  Responder(std::shared_ptr<Exchange> exchange, bool streams, size_t choices)
      : answers_(choices), exchange_(std::move(exchange)), streams_(streams) {}
  virtual ~Responder() = default;
  Responder(const Responder&) = delete;
  Responder& operator=(const Responder&) = delete;

  // The request was taken on: a stream begins now, before the prompt is computed.
  void start();
  void progress(const PromptStatus& progress);
  // Parts and probabilities of one choice, as they become certain.
  void add(size_t choice, const std::vector<AnswerPart>& parts, std::vector<TokenLogprob> logprobs);
  void end(size_t choice, AnswerEnd end);
  // Every choice has ended.
  void finish();
  // The request failed, whatever was sent so far.
  void fail(const ApiError& error);

 protected:
  virtual HttpResponse stream_head() const;
  virtual std::string keepalive() const { return ": keepalive\n\n"; }
  virtual ApiStyle style() const { return ApiStyle::kOpenAi; }
  virtual void stream_start() {}
  virtual void stream_progress(const PromptStatus& /*progress*/) {}
  virtual void stream_part(size_t choice, const AnswerPart& part, const std::string& call_id) = 0;
  virtual void stream_logprobs(size_t /*choice*/, const std::vector<TokenLogprob>& /*list*/) {}
  virtual void stream_end(size_t choice) = 0;
  virtual void stream_finish() = 0;
  virtual std::string error_event(const ApiError& error) const;
  // The answer in one piece.
  virtual std::string whole() = 0;
  virtual std::string new_call_id() const;

  void send(std::string_view event) { exchange_->write(event); }
  bool streams() const { return streams_; }

  std::vector<CollectedAnswer>& answers() { return answers_; }
  const std::vector<CollectedAnswer>& answers() const { return answers_; }

 private:
  std::vector<CollectedAnswer> answers_;
  std::shared_ptr<Exchange> exchange_;
  bool streams_;
  bool begun_ = false;  // the stream's head is sent
  bool ended_ = false;
};

// All choices together, of which `per_prompt` in a row have the same prompt: it counts once.
AnswerCost total_cost(const std::vector<CollectedAnswer>& answers, size_t per_prompt);

}  // namespace smoe::server
