#include "server/responder.h"

#include <fmt/format.h>

#include <algorithm>

#include "server/ids.h"

namespace smoe::server {

HttpResponse Responder::stream_head() const {
  return {200,
          {{"content-type", "text/event-stream"},
           {"cache-control", "no-cache"},
           {"x-accel-buffering", "no"}},
          {}};
}

std::string Responder::error_event(const ApiError& error) const {
  return fmt::format("data: {}\n\n", error_json(error, style()));
}

std::string Responder::new_call_id() const { return random_id("call_"); }

void Responder::start() {
  if (!streams_) return;
  begun_ = true;
  exchange_->begin_stream(stream_head(), keepalive());
  stream_start();
}

void Responder::progress(const PromptStatus& progress) {
  if (streams_ && !ended_) stream_progress(progress);
}

void Responder::add(size_t choice, const std::vector<AnswerPart>& parts,
                    std::vector<TokenLogprob> logprobs) {
  if (ended_) return;
  CollectedAnswer& answer = answers_[choice];
  if (streams_ && !logprobs.empty()) stream_logprobs(choice, logprobs);
  for (TokenLogprob& logprob : logprobs) answer.logprobs.push_back(std::move(logprob));
  for (const AnswerPart& part : parts) {
    std::string id;
    if (part.kind == AnswerPart::Kind::kText) answer.text += part.text;
    if (part.kind == AnswerPart::Kind::kReasoning) answer.reasoning += part.text;
    if (part.kind == AnswerPart::Kind::kToolCall) {
      id = new_call_id();
      answer.calls.emplace_back(id, part.call);
    }
    if (part.kind == AnswerPart::Kind::kArguments)
      answer.calls.back().second.arguments += part.text;
    if (streams_) stream_part(choice, part, id);
  }
}

void Responder::end(size_t choice, AnswerEnd end) {
  if (ended_) return;
  answers_[choice].end = std::move(end);
  const bool calls = !answers_[choice].calls.empty();
  if (calls && answers_[choice].end.reason == StopReason::kEnd)
    answers_[choice].end.reason = StopReason::kToolCalls;
  if (streams_) stream_end(choice);
}

void Responder::finish() {
  if (ended_) return;
  ended_ = true;
  if (streams_) {
    stream_finish();
    exchange_->end();
    return;
  }
  HttpResponse response{200, {{"content-type", "application/json"}}, whole() + "\n"};
  response.headers.push_back(
      {"x-smoe-queue-wait-ms", fmt::format("{:.0f}", total_cost(answers_, 1).queue_ms)});
  exchange_->respond(std::move(response));
}

void Responder::fail(const ApiError& error) {
  if (ended_) return;
  ended_ = true;
  if (begun_) {
    exchange_->write(error_event(error));
    exchange_->end();
  } else {
    exchange_->respond(error_response(error, style()));
  }
}

AnswerCost total_cost(const std::vector<CollectedAnswer>& answers, size_t per_prompt) {
  AnswerCost total;
  for (size_t i = 0; i < answers.size(); ++i) {
    const AnswerCost& cost = answers[i].end.cost;
    if (i % per_prompt == 0) {  // later choices find the prompt of the first in the cache
      total.prompt_tokens += cost.prompt_tokens;
      total.cached_tokens += cost.cached_tokens;
    }
    total.completion_tokens += cost.completion_tokens;
    total.reasoning_tokens += cost.reasoning_tokens;
    total.queue_ms = std::max(total.queue_ms, cost.queue_ms);
    total.prompt_ms = std::max(total.prompt_ms, cost.prompt_ms);
    total.predicted_ms = std::max(total.predicted_ms, cost.predicted_ms);
    total.expert_hits += cost.expert_hits;
    total.expert_misses += cost.expert_misses;
    total.expert_bytes_read += cost.expert_bytes_read;
    total.expert_stall_ms += cost.expert_stall_ms;
    // Of the choice that took longest, for which the client waited.
    if (cost.limited_by != Limit::kNone && cost.predicted_ms >= total.predicted_ms)
      total.limited_by = cost.limited_by;
  }
  return total;
}

}  // namespace smoe::server
