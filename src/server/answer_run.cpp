#include "server/answer_run.h"

#include <algorithm>
#include <limits>
#include <mutex>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "text/grammar/grammar_filter.h"

namespace smoe::server {
namespace {

// Clients give up on a silent answer after ten minutes, and then ask again.
constexpr uint64_t kPatienceNs = 9ULL * 60 * 1'000'000'000;

double milliseconds(uint64_t ns) { return static_cast<double>(ns) * 1e-6; }

AnswerEnd end_of(const GenerationSummary& summary, uint64_t reasoning_tokens) {
  AnswerEnd end;
  if (summary.finish == Finish::kLength || summary.finish == Finish::kContextFull)
    end.reason = StopReason::kLength;
  if (!summary.stop_string.empty()) {
    end.reason = StopReason::kStopString;
    end.stop_string = summary.stop_string;
  }
  end.cost = {.prompt_tokens = summary.prompt_tokens,
              .cached_tokens = summary.cached_tokens,
              .completion_tokens = summary.answer_tokens,
              .reasoning_tokens = reasoning_tokens,
              .queue_ms = milliseconds(summary.queue_ns),
              .prompt_ms = milliseconds(summary.prompt_ns),
              .predicted_ms = milliseconds(summary.decode_ns),
              .expert_hits = summary.speed.expert_hits,
              .expert_misses = summary.speed.expert_misses,
              .expert_bytes_read = summary.speed.bytes_read,
              .expert_stall_ms = milliseconds(summary.speed.stall_ns),
              .limited_by = summary.speed.limit};
  return end;
}

// Shared by the exchange, which may end it, and the listeners of its choices.
class AnswerRun : public std::enable_shared_from_this<AnswerRun> {
 public:
  AnswerRun(ModelLease model, AnswerCall call, std::unique_ptr<Responder> responder,
            std::shared_ptr<Exchange> exchange, RequestMetrics& metrics)
      : model_(std::move(model)),
        call_(std::move(call)),
        responder_(std::move(responder)),
        exchange_(std::move(exchange)),
        metrics_(metrics),
        left_(call_.prompts.size() * call_.choices) {}

  void start();
  void cancel();

  // From the engine's thread.
  void progress(const PromptProgress& progress);
  void piece(size_t choice, AnswerParser& parser, const AnswerPiece& piece,
             std::vector<TokenLogprob> logprobs);
  void finished(size_t choice, AnswerParser& parser, uint64_t reasoning_tokens,
                Result<GenerationSummary> result);
  const Tokenizer& tokenizer() const { return model_->tokenizer(); }
  RequestMetrics& metrics() { return metrics_; }

 private:
  GenerationRequest request_of(size_t choice) const;
  void fail(const ApiError& error);

  const ModelLease model_;
  const AnswerCall call_;
  const std::unique_ptr<Responder> responder_;
  const std::shared_ptr<Exchange> exchange_;
  RequestMetrics& metrics_;

  std::mutex mutex_;  // guards the responder and what follows
  size_t left_;       // choices that have not ended
  std::vector<RequestId> requests_;
  bool warned_ = false;
};

// One choice of a run.
class ChoiceListener final : public GenerationListener {
 public:
  ChoiceListener(std::shared_ptr<AnswerRun> run, size_t choice, const AnswerParser::Options& parser)
      : run_(std::move(run)), choice_(choice), parser_(parser), begin_ns_(now_ns()) {}

  void prompt_progress(const PromptProgress& progress) override { run_->progress(progress); }

  void piece(const AnswerPiece& piece) override {
    if (!piece.last) note_time();
    run_->piece(choice_, parser_, piece, logprobs_of(piece));
    if (!piece.last && parser_.thinking()) ++reasoning_tokens_;
  }

  void finished(Result<GenerationSummary> result) override {
    run_->finished(choice_, parser_, reasoning_tokens_, std::move(result));
  }

 private:
  void note_time() {
    const uint64_t now = now_ns();
    if (last_ns_ == 0) {
      run_->metrics().first_token_after(seconds_between(begin_ns_, now));
    } else {
      run_->metrics().token_after(seconds_between(last_ns_, now));
    }
    last_ns_ = now;
  }

  TokenChance chance(TokenId token, float logprob) const {
    TokenChance chance{std::string(run_->tokenizer().bytes_of(token)), std::nullopt};
    if (logprob > -std::numeric_limits<float>::infinity()) chance.logprob = logprob;
    return chance;
  }

  std::vector<TokenLogprob> logprobs_of(const AnswerPiece& piece) const {
    if (piece.logprobs == nullptr || piece.last) return {};
    TokenLogprob entry{chance(piece.token, piece.logprobs->logprob), {}};
    for (const auto& [token, logprob] : piece.logprobs->top)
      entry.top.push_back(chance(token, logprob));
    const auto is_chosen = [&](const auto& item) { return item.first == piece.token; };
    const auto& top = piece.logprobs->top;
    if (!top.empty() && std::none_of(top.begin(), top.end(), is_chosen))
      entry.top.push_back(entry.chosen);
    return {std::move(entry)};
  }

  std::shared_ptr<AnswerRun> run_;
  size_t choice_;
  AnswerParser parser_;
  uint64_t begin_ns_;
  uint64_t last_ns_ = 0;
  uint64_t reasoning_tokens_ = 0;
};

GenerationRequest AnswerRun::request_of(size_t choice) const {
  GenerationRequest request;
  request.prompt = call_.prompts[choice / call_.choices];
  request.options.sampler = call_.sampling.sampler;
  request.options.sampler.logit_bias = call_.sampling.logit_bias;
  request.options.sampler.seed += choice % call_.choices;
  request.options.max_tokens = call_.sampling.max_tokens;
  if (!call_.sampling.ignore_eos) request.options.stop_tokens = model_->stops();
  request.options.stop_strings = call_.sampling.stops;
  request.top_logprobs = call_.top_logprobs;
  if (call_.masks)
    request.filter = std::make_unique<GrammarFilter>(call_.masks, model_->tokenizer(),
                                                     request.options.stop_tokens);
  return request;
}

void AnswerRun::start() {
  const uint64_t context = model_->engine().context();
  for (const auto& prompt : call_.prompts)
    if (prompt.size() >= context)
      return fail(context_exceeded(call_.prompt_field, prompt.size(), context));

  // The listeners hear nothing before all requests are in and the head is sent.
  std::unique_lock lock(mutex_);
  const size_t choices = left_;
  for (size_t choice = 0; choice < choices; ++choice) {
    auto id = model_->scheduler().submit(
        request_of(choice),
        std::make_unique<ChoiceListener>(shared_from_this(), choice, call_.parser));
    if (!id) {
      left_ -= choices - choice;
      lock.unlock();
      ApiError error = api_error_of(id.error());
      if (error.code == "context_length_exceeded") error.param = call_.prompt_field;
      fail(error);
      return cancel();
    }
    requests_.push_back(*id);
  }
  responder_->start();
  lock.unlock();
  exchange_->on_disconnect([weak = weak_from_this()] {
    if (const auto run = weak.lock()) run->cancel();
  });
}

void AnswerRun::fail(const ApiError& error) {
  const std::lock_guard lock(mutex_);
  responder_->fail(error);
}

void AnswerRun::cancel() {
  std::vector<RequestId> requests;
  {
    const std::lock_guard lock(mutex_);
    requests = requests_;
  }
  for (const RequestId request : requests) model_->scheduler().cancel(request);
}

void AnswerRun::progress(const PromptProgress& progress) {
  const std::lock_guard lock(mutex_);
  responder_->progress(
      {progress.total, progress.cached, progress.done, progress.spent_ns / 1'000'000});
  // A client that waits for one piece hears nothing until the end.
  const size_t computed = progress.done - std::min(progress.cached, progress.done);
  if (computed == 0 || progress.done == progress.total) return;
  const double whole_ns = static_cast<double>(progress.spent_ns) / static_cast<double>(computed) *
                          static_cast<double>(progress.total - progress.cached);
  if (whole_ns > static_cast<double>(kPatienceNs) && !warned_)
    log::warn(
        "{}: this prompt will take about {:.0f} minutes; clients give up after 10 unless "
        "they stream",
        exchange_->request().id, whole_ns * 1e-9 / 60);
  warned_ = warned_ || whole_ns > static_cast<double>(kPatienceNs);
}

void AnswerRun::piece(size_t choice, AnswerParser& parser, const AnswerPiece& piece,
                      std::vector<TokenLogprob> logprobs) {
  const std::lock_guard lock(mutex_);
  responder_->add(choice, parser.push(piece.text), std::move(logprobs));
}

void AnswerRun::finished(size_t choice, AnswerParser& parser, uint64_t reasoning_tokens,
                         Result<GenerationSummary> result) {
  bool failed = false;
  {
    const std::lock_guard lock(mutex_);
    --left_;
    if (!result) {
      log::warn("{}: {}", exchange_->request().id, result.error().message);
      failed = true;
      responder_->fail(api_error_of(result.error()));
    } else if (result->finish == Finish::kCancelled) {
      responder_->fail({.status = 503, .message = "the request was cancelled"});
    } else {
      responder_->add(choice, parser.finish(), {});
      responder_->end(choice, end_of(*result, reasoning_tokens));
      if (left_ == 0) responder_->finish();
    }
  }
  if (failed && call_.choices * call_.prompts.size() > 1) cancel();
}

}  // namespace

void run_answer(ModelLease model, AnswerCall call, std::unique_ptr<Responder> responder,
                std::shared_ptr<Exchange> exchange, RequestMetrics& metrics) {
  std::make_shared<AnswerRun>(std::move(model), std::move(call), std::move(responder),
                              std::move(exchange), metrics)
      ->start();
}

}  // namespace smoe::server
