#include "server/scheduler.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "base/guard.h"
#include "engine/prefix_tree.h"
#include "server/prompt_slice.h"
#include "server/running_request.h"
#include "server/step_planner.h"

namespace smoe::server {
namespace {

// A request that ended before it got a slot.
struct EndedInQueue {
  QueuedRequest request;
  std::optional<Error> error;  // none: it was cancelled
};

void tell_end(EndedInQueue& ended) {
  if (ended.error) {
    ended.request.listener->finished(*std::move(ended.error));
    return;
  }
  GenerationSummary summary;
  summary.finish = Finish::kCancelled;
  summary.prompt_tokens = ended.request.request.prompt.size();
  summary.queue_ns = now_ns() - ended.request.submitted_ns;
  summary.speed.queue_ns = summary.queue_ns;
  summary.speed.limit = limit_of(summary.speed, false);
  ended.request.listener->finished(std::move(summary));
}

Result<std::unique_ptr<PrefixStore>> open_store(const Engine& engine, PrefixStoreOptions options) {
  if (options.folder.empty()) return std::unique_ptr<PrefixStore>();
  options.identity += fmt::format(" {:016x} {}", engine.fingerprint(), name_of(engine.kv().type()));
  return PrefixStore::open(std::move(options), engine.kv().page_bytes());
}

// Hands each request the logits of its last row.
class ShareSink : public StepSink {
 public:
  ShareSink(std::span<StepShare> shares, PrefixTree& tree) : shares_(shares), tree_(tree) {}

  void logits(uint32_t index, std::span<const float> values) override {
    while (begin_ + shares_[share_].rows <= index) begin_ += shares_[share_++].rows;
    StepShare& share = shares_[share_];
    share.request->advance(share.rows, tree_);
    share.request->draw(values);
    share.served = true;
  }

 private:
  std::span<StepShare> shares_;
  PrefixTree& tree_;
  size_t share_ = 0;
  uint32_t begin_ = 0;  // first row of that share
};

}  // namespace

class Scheduler::Impl {
 public:
  Impl(Engine& engine, const Tokenizer& tokenizer, const SchedulerOptions& options,
       std::unique_ptr<PrefixStore> store);
  ~Impl() { stop(); }
  void start() {
    thread_ = std::thread([this] { run(); });
  }

  Result<RequestId> submit(GenerationRequest request, std::unique_ptr<GenerationListener> listener);
  void cancel(RequestId request);
  SchedulerSnapshot snapshot() const;
  bool drain(uint64_t timeout_ns);
  void stop();

 private:
  // What cancel() has to know of a running request.
  struct Watch {
    RequestId id{};
    bool cancelled = false;
    uint32_t rows = 0;  // of the step that is under way
  };

  Status check(const GenerationRequest& request) const;
  void cut_wasted_step();

  void run();
  bool wait_for_work();
  void round();
  void leave_queue();
  void drop_cancelled();
  void compute(std::span<StepShare> shares);
  Status run_step(std::span<StepShare> shares);
  void begin_step(std::span<const StepShare> shares);
  void end_step();
  void note_cost(std::span<StepShare> shares, const StreamStats& before, uint64_t step_ns);
  void tell_all();
  void end_all(const Error& why);
  void publish();

  Engine& engine_;
  const Tokenizer& tokenizer_;
  const SchedulerOptions options_;

  mutable std::mutex mutex_;  // held for moments only, never during a step or a listener's call
  std::condition_variable work_;
  std::condition_variable idle_;
  std::deque<QueuedRequest> queue_;
  std::vector<EndedInQueue> ended_in_queue_;
  std::vector<Watch> watches_;  // one a running request
  bool stepping_ = false;
  bool cut_ = false;        // the step under way was cut short
  bool after_cut_ = false;  // it is the repetition of one that was
  bool draining_ = false;
  bool stopping_ = false;
  uint64_t last_id_ = 0;
  SchedulerSnapshot published_;

  // The thread's own.
  std::unique_ptr<PrefixStore> store_;  // nullptr without a folder
  PrefixTree tree_;
  StepPlanner planner_;
  PromptSlice slice_;
  SamplerWork sampler_work_;
  std::vector<std::unique_ptr<RunningRequest>> running_;  // oldest first
  std::vector<StepShare> shares_;
  std::vector<BatchToken> batch_;
  SchedulerSnapshot counts_;
  std::thread thread_;
};

Scheduler::Impl::Impl(Engine& engine, const Tokenizer& tokenizer, const SchedulerOptions& options,
                      std::unique_ptr<PrefixStore> store)
    : engine_(engine),
      tokenizer_(tokenizer),
      options_(options),
      store_(std::move(store)),
      tree_(engine.kv(), store_.get()),
      planner_(engine.kv(), tree_, engine.prompt_chunk()),
      slice_(engine.prompt_chunk() - options.parallel) {
  batch_.reserve(engine.prompt_chunk());
  publish();
}

Status Scheduler::Impl::check(const GenerationRequest& request) const {
  if (request.prompt.empty())
    return Error{Code::kUsage,
                 "the prompt is empty: a model needs at least one token to go on from"};
  if (request.prompt.size() > engine_.context())
    return Error{Code::kContextFull,
                 fmt::format("the prompt has {} tokens and the context holds {}; a larger --ctx "
                             "makes room",
                             request.prompt.size(), engine_.context())};
  const uint32_t vocabulary = engine_.spec().vocabulary;
  for (const TokenId token : request.prompt)
    if (index_of(token) >= vocabulary)
      return Error{Code::kUsage, fmt::format("token {} is outside the vocabulary of {}",
                                             index_of(token), vocabulary)};
  return {};
}

Result<RequestId> Scheduler::Impl::submit(GenerationRequest request,
                                          std::unique_ptr<GenerationListener> listener) {
  SMOE_DO(check(request));
  const std::lock_guard lock(mutex_);
  if (draining_ || stopping_) return Error{Code::kBusy, "the server is about to stop"};
  const size_t free_slots =
      options_.parallel - std::min<size_t>(watches_.size(), options_.parallel);
  if (queue_.size() >= options_.max_queue + free_slots)
    return Error{Code::kBusy,
                 fmt::format("{} requests are running and {} are waiting, which is all there is "
                             "room for; --max-queue makes more",
                             watches_.size(), queue_.size())};
  const RequestId id{++last_id_};
  queue_.push_back({id, std::move(request), std::move(listener), now_ns()});
  work_.notify_one();
  return id;
}

void Scheduler::Impl::cancel(RequestId request) {
  const std::lock_guard lock(mutex_);
  const auto queued = std::find_if(queue_.begin(), queue_.end(),
                                   [&](const QueuedRequest& other) { return other.id == request; });
  if (queued != queue_.end()) {
    ended_in_queue_.push_back({std::move(*queued), {}});
    queue_.erase(queued);
    work_.notify_one();
    return;
  }
  for (Watch& watch : watches_)
    if (watch.id == request) watch.cancelled = true;
  cut_wasted_step();
}

// Cutting a step short loses what it computed for the others. So it pays when there are no others,
// or when they are the smaller part, as answers beside a slice of a prompt are: they are computed
// again at once, from records that are in the ring already. That step is not cut again for somebody
// who leaves, so that the others get on however many come and go. Under mutex_.
void Scheduler::Impl::cut_wasted_step() {
  if (!stepping_ || cut_) return;
  uint32_t wasted = 0;
  uint32_t wanted = 0;
  for (const Watch& watch : watches_) (watch.cancelled ? wasted : wanted) += watch.rows;
  if (wasted == 0 || (wanted > 0 && (after_cut_ || wasted <= wanted))) return;
  cut_ = true;
  engine_.cancel();
}

SchedulerSnapshot Scheduler::Impl::snapshot() const {
  const std::lock_guard lock(mutex_);
  SchedulerSnapshot snapshot = published_;
  snapshot.queued = queue_.size();
  snapshot.draining = draining_ || stopping_;
  snapshot.requests = last_id_;
  return snapshot;
}

bool Scheduler::Impl::drain(uint64_t timeout_ns) {
  std::unique_lock lock(mutex_);
  draining_ = true;
  return idle_.wait_for(lock, std::chrono::nanoseconds(timeout_ns), [&] {
    return queue_.empty() && ended_in_queue_.empty() && watches_.empty();
  });
}

void Scheduler::Impl::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    engine_.cancel();
    work_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
  engine_.clear_cancel();
}

void Scheduler::Impl::run() {
  while (wait_for_work()) {
    const Status status = guarded([&]() -> Status {
      round();
      return {};
    });
    if (!status) end_all(status.error());
  }
  end_all({Code::kCancelled, "the server stops"});
}

bool Scheduler::Impl::wait_for_work() {
  std::unique_lock lock(mutex_);
  if (running_.empty() && queue_.empty() && ended_in_queue_.empty()) idle_.notify_all();
  work_.wait(lock, [&] {
    return stopping_ || !running_.empty() || !queue_.empty() || !ended_in_queue_.empty();
  });
  return !stopping_;
}

void Scheduler::Impl::round() {
  leave_queue();
  drop_cancelled();
  const bool answers = std::any_of(running_.begin(), running_.end(),
                                   [](const auto& request) { return request->answering(); });
  planner_.plan(running_, slice_.tokens(), shares_);
  if (shares_.empty()) {  // everybody was suspended for one that has ended
    for (const auto& request : running_) request->resume();
  } else {
    const StreamStats before = engine_.stream_stats();
    const uint64_t begin_ns = now_ns();
    const bool whole_slice =
        answers && std::any_of(shares_.begin(), shares_.end(), [&](const StepShare& share) {
          return share.rows == slice_.tokens();
        });
    compute(shares_);
    if (whole_slice)
      slice_.step_ended(now_ns() - begin_ns, engine_.stream_stats().wait_ns - before.wait_ns);
  }
  tell_all();
  publish();
}

// The oldest of the queue get the free slots; those whose time ran out end.
void Scheduler::Impl::leave_queue() {
  std::vector<EndedInQueue> ended;
  {
    const std::lock_guard lock(mutex_);
    ended = std::exchange(ended_in_queue_, {});
    const uint64_t now = now_ns();
    const uint64_t most = options_.queue_timeout_ns;
    while (!queue_.empty() && most > 0 && now - queue_.front().submitted_ns > most) {
      const uint64_t waited_s = (now - queue_.front().submitted_ns) / 1'000'000'000;
      ended.push_back({std::move(queue_.front()),
                       Error{Code::kBusy, fmt::format("waited {} s for others to end, which is as "
                                                      "long as --queue-timeout allows",
                                                      waited_s)}});
      queue_.pop_front();
    }
    while (!queue_.empty() && running_.size() < options_.parallel) {
      auto sequence = engine_.kv().open_sequence();
      SMOE_CHECK(sequence);  // as many as `parallel`
      watches_.push_back({queue_.front().id});
      running_.push_back(std::make_unique<RunningRequest>(std::move(queue_.front()), *sequence,
                                                          engine_, tokenizer_, sampler_work_));
      queue_.pop_front();
    }
  }
  for (EndedInQueue& request : ended) {
    ++counts_.finished;
    ++(request.error ? counts_.failed : counts_.cancelled);
    tell_end(request);
  }
}

void Scheduler::Impl::drop_cancelled() {
  {
    const std::lock_guard lock(mutex_);
    for (size_t i = 0; i < running_.size(); ++i)
      if (watches_[i].cancelled) running_[i]->cancel();
  }
  tell_all();
}

// A step that fails is computed again in two halves, until the requests that need what cannot be
// read, or that compute what is no number, are alone. The others go on as if nothing had happened.
void Scheduler::Impl::compute(std::span<StepShare> shares) {
  const Status status = run_step(shares);
  if (status || status.error().code == Code::kCancelled) return;
  if (shares.size() == 1) {
    shares.front().request->fail(status.error());
    return;
  }
  const auto left = std::partition(shares.begin(), shares.end(),
                                   [](const StepShare& share) { return share.served; });
  const auto unserved = std::span<StepShare>(left, shares.end());
  if (unserved.empty()) return;
  const size_t half = unserved.size() / 2;
  if (half > 0) compute(unserved.first(half));
  compute(unserved.subspan(half));
}

Status Scheduler::Impl::run_step(std::span<StepShare> shares) {
  batch_.clear();
  for (const StepShare& share : shares) {
    const RunningRequest& request = *share.request;
    for (uint32_t i = 0; i < share.rows; ++i) {
      const uint32_t position = request.computed() + i;
      batch_.push_back({request.tokens()[position], request.sequence(), position,
                        position + 1 == request.tokens().size()});
    }
  }
  const StreamStats before = engine_.stream_stats();
  const uint64_t begin_ns = now_ns();
  ShareSink sink(shares, tree_);
  begin_step(shares);
  Status status = engine_.step(batch_, sink);
  end_step();
  note_cost(shares, before, now_ns() - begin_ns);
  if (!status) return status;
  for (StepShare& share : shares) {
    if (std::exchange(share.served, true)) continue;
    share.request->advance(share.rows, tree_);
  }
  return status;
}

void Scheduler::Impl::begin_step(std::span<const StepShare> shares) {
  const std::lock_guard lock(mutex_);
  for (const StepShare& share : shares)
    for (Watch& watch : watches_)
      if (watch.id == share.request->id()) watch.rows = share.rows;
  stepping_ = true;
  cut_wasted_step();
}

void Scheduler::Impl::end_step() {
  const std::lock_guard lock(mutex_);
  for (Watch& watch : watches_) watch.rows = 0;
  stepping_ = false;
  after_cut_ = std::exchange(cut_, false);
  if (after_cut_ && !stopping_) engine_.clear_cancel();
}

void Scheduler::Impl::note_cost(std::span<StepShare> shares, const StreamStats& before,
                                uint64_t step_ns) {
  const StreamStats after = engine_.stream_stats();
  StepCost cost;
  cost.step_ns = step_ns;
  cost.stall_ns = after.wait_ns - before.wait_ns;
  cost.hits = after.hits - before.hits;
  cost.misses = after.demands - before.demands - cost.hits;
  cost.bytes_read = after.bytes_read - before.bytes_read;
  for (const StepShare& share : shares)
    share.request->add_cost(cost,
                            static_cast<double>(share.rows) / static_cast<double>(batch_.size()));
}

// Listeners hear what is new; who has ended leaves its slot, and those that were suspended for it
// may try again.
void Scheduler::Impl::tell_all() {
  const bool limited_by_ring = ring_is_short(engine_);
  for (size_t i = 0; i < running_.size();) {
    running_[i]->tell();
    if (!running_[i]->ended()) {
      ++i;
      continue;
    }
    const std::unique_ptr<RunningRequest> ended = std::move(running_[i]);
    running_.erase(running_.begin() + static_cast<ptrdiff_t>(i));
    {
      const std::lock_guard lock(mutex_);
      watches_.erase(watches_.begin() + static_cast<ptrdiff_t>(i));
    }
    ++counts_.finished;
    if (ended->cancelled()) ++counts_.cancelled;
    if (ended->failed()) ++counts_.failed;
    counts_.prompt_tokens += ended->prompt_tokens();
    counts_.cached_tokens += ended->cached_tokens();
    counts_.answer_tokens += ended->answer_tokens();
    ++counts_.prefix_queries;
    if (ended->cached_tokens() > 0) ++counts_.prefix_hits;
    publish();
    ended->end(tree_, limited_by_ring);
    for (const auto& request : running_) request->resume();
  }
}

void Scheduler::Impl::end_all(const Error& why) {
  std::deque<QueuedRequest> queued;
  {
    const std::lock_guard lock(mutex_);
    queued = std::exchange(queue_, {});
  }
  for (const auto& request : running_)
    if (!request->ended()) request->fail(why);
  tell_all();
  leave_queue();
  for (QueuedRequest& request : queued) {
    ++counts_.finished;
    ++counts_.failed;
    request.listener->finished(why);
  }
  publish();
}

void Scheduler::Impl::publish() {
  KvCache& kv = engine_.kv();
  if (store_ != nullptr) counts_.disk = store_->stats();
  counts_.kv_pages = kv.pages();
  counts_.kv_pages_cached = tree_.unused_pages();
  counts_.kv_pages_free = kv.free_pages();
  counts_.suspended = planner_.suspended();
  counts_.steps = engine_.step_stats();
  counts_.stream = engine_.stream_stats();
  counts_.slots.assign(options_.parallel, {});
  for (size_t i = 0; i < running_.size(); ++i) counts_.slots[i] = running_[i]->snapshot();
  const std::lock_guard lock(mutex_);
  published_ = counts_;
}

Result<std::unique_ptr<Scheduler>> Scheduler::open(Engine& engine, const Tokenizer& tokenizer,
                                                   const SchedulerOptions& options) {
  if (options.parallel == 0)
    return Error{Code::kUsage, "--parallel 0: at least one request has to run"};
  if (options.parallel > engine.kv().sequences())
    return Error{Code::kUsage, fmt::format("--parallel {}: the KV cache was planned for {}",
                                           options.parallel, engine.kv().sequences())};
  if (options.parallel >= engine.prompt_chunk())
    return Error{Code::kUsage,
                 fmt::format("--parallel {} needs prompt chunks of at least {} tokens, there is "
                             "memory for {}",
                             options.parallel, options.parallel + 1, engine.prompt_chunk())};
  return guarded([&]() -> Result<std::unique_ptr<Scheduler>> {
    SMOE_TRY(auto store, open_store(engine, options.disk));
    auto impl = std::make_unique<Impl>(engine, tokenizer, options, std::move(store));
    impl->start();
    return std::unique_ptr<Scheduler>(new Scheduler(std::move(impl)));
  });
}

Scheduler::Scheduler(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Scheduler::~Scheduler() = default;

Result<RequestId> Scheduler::submit(GenerationRequest request,
                                    std::unique_ptr<GenerationListener> listener) {
  return guarded([&] { return impl_->submit(std::move(request), std::move(listener)); });
}

void Scheduler::cancel(RequestId request) { impl_->cancel(request); }
SchedulerSnapshot Scheduler::snapshot() const { return impl_->snapshot(); }
bool Scheduler::drain(uint64_t timeout_ns) { return impl_->drain(timeout_ns); }
void Scheduler::stop() { impl_->stop(); }

}  // namespace smoe::server
