#include "engine/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace smoe {

class Session::LastLogits : public StepSink {
 public:
  explicit LastLogits(std::vector<float>& logits) : logits_(logits) {}
  void logits(uint32_t /*index*/, std::span<const float> values) override {
    logits_.assign(values.begin(), values.end());
  }

 private:
  std::vector<float>& logits_;
};

namespace {

// Passes on the results of one chunk of a longer run, with indices that count from the run's start.
class ChunkSink : public StepSink {
 public:
  ChunkSink(StepSink& sink, uint32_t offset) : sink_(sink), offset_(offset) {}
  void logits(uint32_t index, std::span<const float> values) override {
    sink_.logits(offset_ + index, values);
  }
  bool wants_hidden() const override { return sink_.wants_hidden(); }
  void hidden(uint32_t layer, std::span<const float> values) override {
    sink_.hidden(layer, values);
  }

 private:
  StepSink& sink_;
  uint32_t offset_;
};

}  // namespace

Result<Session> Session::open(Engine& engine) {
  SMOE_TRY(const SequenceId sequence, engine.kv().open_sequence());
  return Session(engine, sequence);
}

Session::Session(Engine& engine, SequenceId sequence) : engine_(&engine), sequence_(sequence) {
  tokens_.reserve(engine.context());
  logits_.reserve(engine.spec().vocabulary);
  batch_.reserve(engine.prompt_chunk());
}

Session::Session(Session&& other) noexcept
    : engine_(std::exchange(other.engine_, nullptr)),
      sequence_(other.sequence_),
      tokens_(std::move(other.tokens_)),
      logits_(std::move(other.logits_)),
      batch_(std::move(other.batch_)) {}

Session::~Session() {
  if (engine_ != nullptr) engine_->kv().close_sequence(sequence_);
}

Status Session::append(std::span<const TokenId> tokens, Progress progress) {
  LastLogits sink(logits_);
  return run(tokens, false, sink, progress);
}

Status Session::score(std::span<const TokenId> tokens, StepSink& sink, Progress progress) {
  return run(tokens, true, sink, progress);
}

Status Session::check(std::span<const TokenId> tokens) const {
  if (tokens.size() > room())
    return Error{
        Code::kContextFull,
        fmt::format("{} tokens do not fit: the context holds {}, {} of them are taken; a larger "
                    "--ctx makes room",
                    tokens.size(), engine_->context(), tokens_.size())};
  const uint32_t vocabulary = engine_->spec().vocabulary;
  for (const TokenId token : tokens)
    if (index_of(token) >= vocabulary)
      return Error{Code::kUsage, fmt::format("token {} is outside the vocabulary of {}",
                                             index_of(token), vocabulary)};
  return {};
}

Status Session::run(std::span<const TokenId> tokens, bool all_logits, StepSink& sink,
                    Progress progress) {
  SMOE_DO(check(tokens));
  const size_t before = tokens_.size();
  SMOE_DO(engine_->kv().extend(sequence_, static_cast<uint32_t>(before + tokens.size())));
  for (size_t done = 0; done < tokens.size();) {
    const size_t count = std::min<size_t>(engine_->prompt_chunk(), tokens.size() - done);
    batch_.clear();
    for (size_t i = 0; i < count; ++i) {
      const bool last = done + i + 1 == tokens.size();
      batch_.push_back({tokens[done + i], sequence_, static_cast<uint32_t>(before + done + i),
                        all_logits || last});
    }
    ChunkSink chunk(sink, static_cast<uint32_t>(done));
    if (Status status = engine_->step(batch_, chunk); !status) {
      rewind(before);
      return status;
    }
    tokens_.insert(tokens_.end(), tokens.begin() + static_cast<ptrdiff_t>(done),
                   tokens.begin() + static_cast<ptrdiff_t>(done + count));
    done += count;
    progress(done, tokens.size());
  }
  return {};
}

void Session::rewind(size_t count) {
  tokens_.resize(std::min(count, tokens_.size()));
  engine_->kv().shrink(sequence_, static_cast<uint32_t>(tokens_.size()));
  logits_.clear();
}

}  // namespace smoe
