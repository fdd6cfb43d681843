#include "engine/rehearsal.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "base/aligned.h"
#include "base/clock.h"
#include "base/guard.h"
#include "base/units.h"
#include "engine/experts.h"
#include "engine/kv_cache.h"
#include "engine/scout.h"
#include "engine/scratch.h"
#include "engine/step.h"

namespace smoe {
namespace {

constexpr uint32_t kChunkTokens = 64;
constexpr uint64_t kRecordsBytes = 256 * kMiB;  // more than any cache of a processor

// Pages that were never written are all one page, which a cache holds: these are written.
class BlankScout final : public ScoutReader {
 public:
  Status read(size_t /*tensor*/, std::span<std::byte> out, const std::atomic<bool>& stop) override {
    if (stop.load(std::memory_order_relaxed)) return Error{Code::kCancelled, "stopped"};
    std::memset(out.data(), 0, out.size());
    return {};
  }
  uint64_t buffer_bytes() const override { return 0; }
};

// Experts that are all in memory. Their weights are zero and their places go round, so that they
// come from memory as often as real ones.
class BlankExperts final : public Experts {
 public:
  static Result<std::unique_ptr<BlankExperts>> open(const ModelSpec& spec,
                                                    std::span<const VaultInfo> layers,
                                                    Device& device) {
    auto experts = std::make_unique<BlankExperts>(spec, device);
    uint64_t largest = kPageBytes;
    uint64_t token_bytes = 0;
    for (const VaultInfo& info : layers) {
      experts->layers_[info.layer] = info.record;
      largest = std::max(largest, info.record.record_bytes);
      token_bytes += info.record.record_bytes * spec.layers[info.layer].ffn.router.active_experts;
    }
    const uint64_t bytes = std::max(largest, std::min(token_bytes, kRecordsBytes));
    SMOE_TRY(experts->memory_, AlignedBuffer::allocate(bytes));
    std::memset(experts->memory_.data(), 0, experts->memory_.size());
    SMOE_TRY(experts->buffer_, device.adopt(experts->memory_.bytes()));
    return experts;
  }
  BlankExperts(const ModelSpec& spec, Device& device)
      : spec_(spec), device_(device), layers_(spec.layers.size()) {}

  void demand(uint32_t /*layer*/, const Routing& /*routing*/) override {}
  void bet(uint32_t /*layer*/, const Routing& /*routing*/) override {}
  uint64_t record_bytes(uint32_t layer) const override { return layers_[layer].record_bytes; }

  // All weights being zero, every token has chosen the same experts; the work is shared out as if
  // they had not.
  Status run(const ExpertsCall& call) override {
    const FfnSpec& ffn = spec_.layers[call.layer].ffn;
    const uint32_t tokens = call.in.count;
    const auto members =
        static_cast<uint32_t>(std::max(1.0, std::round(expected_union(ffn, tokens))));
    const uint32_t rows = std::min(tokens, ceil_div(tokens * ffn.router.active_experts, members));
    rows_.resize(rows);
    std::iota(rows_.begin(), rows_.end(), 0U);
    weights_.assign(rows, 1.0F);
    for (uint32_t member = 0; member < members; ++member) {
      const RecordLayout& layout = layers_[call.layer];
      if (next_ + layout.record_bytes > memory_.size()) next_ = 0;
      const Rows out = call.direct.first(rows);
      device_.run_expert({matrix(*layout.find("gate")), matrix(*layout.find("up")),
                          matrix(*layout.find("down")), call.in, rows_, out});
      device_.accumulate({out, rows_, weights_, call.out});
      next_ += layout.record_bytes;
    }
    return {};
  }

 private:
  Matrix matrix(const Segment& segment) const {
    return {{&buffer_, next_ + segment.offset},
            segment.format,
            segment.rows,
            segment.cols,
            segment.tile_stride};
  }

  const ModelSpec& spec_;
  Device& device_;
  std::vector<RecordLayout> layers_;
  AlignedBuffer memory_;
  Buffer buffer_;
  uint64_t next_ = 0;  // byte of the next record
  std::vector<uint32_t> rows_;
  std::vector<float> weights_;
};

class Unheard final : public StepSink {
 public:
  void logits(uint32_t /*index*/, std::span<const float> /*values*/) override {}
};

// Runs batches of one size for a while; the mean time, which other programs' share of the
// processors is part of. The first one warms up.
Result<uint64_t> time_steps(Step& step, SequenceId sequence, uint32_t first, uint32_t tokens,
                            uint64_t limit_ns) {
  std::vector<BatchToken> batch(tokens);
  for (uint32_t i = 0; i < tokens; ++i)
    batch[i] = {TokenId{0}, sequence, first + i, i + 1 == tokens};
  Unheard unheard;
  SMOE_DO(step.run(batch, unheard));
  const uint64_t began_ns = now_ns();
  uint64_t ended_ns = began_ns;
  uint64_t steps = 0;
  while (steps == 0 || ended_ns - began_ns < limit_ns) {
    SMOE_DO(step.run(batch, unheard));
    ended_ns = now_ns();
    ++steps;
  }
  return (ended_ns - began_ns) / steps;
}

Result<Rehearsal> rehearse_parts(const ModelSpec& spec, const ScoutInfo& scout_info,
                                 std::span<const VaultInfo> layers, const RehearsalWishes& wishes,
                                 Device& device) {
  if (wishes.prompt_tokens == 0 || wishes.prompt_tokens >= spec.context)
    return Error{Code::kUsage, "a prompt of " + std::to_string(wishes.prompt_tokens) +
                                   " tokens: this model was made for 1 to " +
                                   std::to_string(spec.context - 1)};
  const uint32_t chunk = std::min(wishes.prompt_tokens, kChunkTokens);
  const uint32_t context = wishes.prompt_tokens + 1;
  SMOE_TRY(const std::unique_ptr<Scout> scout,
           Scout::open(ScoutFile::over(scout_info, "scout"), spec, device,
                       std::make_shared<BlankScout>()));
  SMOE_TRY(const std::unique_ptr<BlankExperts> experts, BlankExperts::open(spec, layers, device));
  SMOE_TRY(KvCache kv, KvCache::open(spec, {context, 1, 0, wishes.kv}, device));
  Scratch scratch;
  SMOE_DO(Scratch::allocate(spec, chunk, device, scratch));
  SMOE_DO(device.reserve(Scratch::limits_for(spec, chunk, context)));
  const std::atomic<bool> never{false};
  Step::Parts parts;
  parts.spec = &spec;
  parts.device = &device;
  parts.scout = scout.get();
  parts.kv = &kv;
  parts.experts = experts.get();
  parts.scratch = &scratch;
  parts.cancelled = &never;
  Step step(parts);
  SMOE_TRY(const SequenceId sequence, kv.open_sequence());
  SMOE_DO(kv.extend(sequence, context));
  SMOE_DO(scout->wait_for_all());

  Rehearsal rehearsal;
  rehearsal.chunk_tokens = chunk;
  SMOE_TRY(rehearsal.token_ns, time_steps(step, sequence, wishes.prompt_tokens, 1, wishes.time_ns));
  SMOE_TRY(rehearsal.chunk_ns,
           time_steps(step, sequence, (wishes.prompt_tokens - chunk) / 2, chunk, wishes.time_ns));
  return rehearsal;
}

}  // namespace

double expected_union(const FfnSpec& ffn, uint64_t tokens) {
  if (ffn.experts == 0) return 0;
  const auto experts = static_cast<double>(ffn.experts);
  const double missed = 1 - static_cast<double>(ffn.router.active_experts) / experts;
  return experts * (1 - std::pow(missed, static_cast<double>(tokens)));
}

Result<Rehearsal> rehearse(const ModelSpec& spec, const ScoutInfo& scout,
                           std::span<const VaultInfo> layers, const RehearsalWishes& wishes,
                           Device& device) {
  return guarded([&] { return rehearse_parts(spec, scout, layers, wishes, device); });
}

}  // namespace smoe
