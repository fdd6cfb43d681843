#include "server/running_request.h"

#include <cmath>
#include <utility>

#include "base/clock.h"

namespace smoe::server {
namespace {

uint64_t rounded_count(double value) { return static_cast<uint64_t>(std::llround(value)); }

}  // namespace

RunningRequest::RunningRequest(QueuedRequest queued, SequenceId sequence, Engine& engine,
                               const Tokenizer& tokenizer, SamplerWork& work)
    : id_(queued.id),
      listener_(std::move(queued.listener)),
      sequence_(sequence),
      engine_(engine),
      tokens_(std::move(queued.request.prompt)),
      prompt_tokens_(tokens_.size()),
      top_logprobs_(queued.request.top_logprobs),
      answer_(std::move(queued.request.options), engine.spec().vocabulary, tokenizer,
              std::move(queued.request.filter), work),
      submitted_ns_(queued.submitted_ns) {}

// The last token is computed even if it is there: its logits are needed.
void RunningRequest::attach(PrefixTree& tree) {
  computed_ = tree.attach(sequence_, std::span(tokens_).first(tokens_.size() - 1));
  attached_ = true;
  if (began_ns_ > 0) return;
  began_ns_ = now_ns();
  cached_tokens_ = computed_;
}

void RunningRequest::suspend(PrefixTree& tree) {
  tree.keep(sequence_, std::span(tokens_).first(computed_), PrefixTree::Tail::kKept);
  engine_.kv().shrink(sequence_, 0);
  computed_ = 0;
  attached_ = false;
  suspended_ = true;
}

void RunningRequest::advance(uint32_t rows, PrefixTree& tree) {
  const bool prompt = computed_ < prompt_tokens_;
  computed_ += rows;
  if (!prompt) return;
  progressed_ = !answer_begun_;
  tree.keep(sequence_, std::span(tokens_).first(computed_), PrefixTree::Tail::kLeftOut);
}

void RunningRequest::draw(std::span<const float> logits) {
  auto token = answer_.draw(logits, tokens_);
  if (!token) {
    error_ = std::move(token).error();
    return;
  }
  if (first_token_ns_ == 0) first_token_ns_ = now_ns();
  drawn_ = *token;
  if (!drawn_) return;
  if (top_logprobs_) logprobs_ = logprobs_of(logits, answer_.usable(), *drawn_, *top_logprobs_);
  tokens_.push_back(*drawn_);
  if (!answer_.finish() && tokens_.size() > engine_.context()) answer_.end(Finish::kContextFull);
}

void RunningRequest::add_cost(const StepCost& cost, double share) {
  ++speed_.steps;
  speed_.step_ns += cost.step_ns;
  speed_.stall_ns += cost.stall_ns;
  hits_ += share * static_cast<double>(cost.hits);
  misses_ += share * static_cast<double>(cost.misses);
  bytes_ += share * static_cast<double>(cost.bytes_read);
}

void RunningRequest::tell() {
  if (std::exchange(progressed_, false))
    listener_->prompt_progress({prompt_tokens_, cached_tokens_, computed_, now_ns() - began_ns_});
  if (!drawn_) return;
  answer_begun_ = true;
  listener_->piece({*drawn_, answer_.text(), logprobs_ ? &*logprobs_ : nullptr, false});
  drawn_.reset();
  logprobs_.reset();
}

void RunningRequest::end(PrefixTree& tree, bool limited_by_ring) {
  if (computed_ > 0)
    tree.keep(sequence_, std::span(tokens_).first(computed_), PrefixTree::Tail::kKept);
  engine_.kv().close_sequence(sequence_);
  if (const std::string rest = answer_.rest(); !rest.empty())
    listener_->piece({TokenId{}, rest, nullptr, true});
  if (error_) {
    listener_->finished(*std::move(error_));
  } else {
    listener_->finished(summary(limited_by_ring));
  }
}

GenerationSummary RunningRequest::summary(bool limited_by_ring) {
  GenerationSummary summary;
  const uint64_t end_ns = now_ns();
  const uint64_t began_ns = began_ns_ > 0 ? began_ns_ : end_ns;
  const uint64_t first_ns = first_token_ns_ > 0 ? first_token_ns_ : end_ns;
  summary.finish = *answer_.finish();
  summary.stop_string = answer_.stop_string();
  summary.prompt_tokens = prompt_tokens_;
  summary.cached_tokens = cached_tokens_;
  summary.answer_tokens = answer_.tokens().size();
  summary.queue_ns = began_ns - submitted_ns_;
  summary.prompt_ns = first_ns - began_ns;
  summary.decode_ns = end_ns - first_ns;
  speed_.expert_hits = rounded_count(hits_);
  speed_.expert_misses = rounded_count(misses_);
  speed_.bytes_read = rounded_count(bytes_);
  speed_.queue_ns = summary.queue_ns;
  speed_.limit = limit_of(speed_, limited_by_ring);
  summary.speed = speed_;
  return summary;
}

SlotSnapshot RunningRequest::snapshot() const {
  SlotSnapshot slot;
  slot.state = answer_begun_ ? SlotSnapshot::State::kAnswer : SlotSnapshot::State::kPrompt;
  slot.request = id_;
  slot.prompt_tokens = prompt_tokens_;
  slot.cached_tokens = cached_tokens_;
  slot.computed_tokens = computed_;
  slot.answer_tokens = answer_.tokens().size();
  slot.started_ns = began_ns_;
  return slot;
}

}  // namespace smoe::server
