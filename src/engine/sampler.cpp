#include "engine/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/rng.h"

namespace smoe {
namespace {

constexpr float kGreedyBelow = 1e-4F;

}  // namespace

Sampler::Sampler(const SamplerOptions& options, uint32_t vocabulary, uint32_t usable)
    : options_(options),
      usable_(std::min(vocabulary, usable)),
      logits_(usable_),
      occurrences_(usable_),
      candidates_(usable_) {
  SMOE_CHECK(usable_ > 0);
}

Result<TokenId> Sampler::sample(std::span<const float> logits, std::span<const TokenId> history,
                                std::span<const uint64_t> allowed) {
  SMOE_CHECK(logits.size() >= usable_);
  std::copy_n(logits.begin(), usable_, logits_.begin());
  if (!std::all_of(logits_.begin(), logits_.end(), [](float v) { return std::isfinite(v); }))
    return Error{Code::kNumeric, "the logits are not finite"};
  add_biases();
  penalize(history);
  if (!allowed.empty()) forbid(allowed);
  if (options_.temperature < kGreedyBelow) {
    const auto best = std::max_element(logits_.begin(), logits_.end());  // the first of equals
    return TokenId{static_cast<uint32_t>(best - logits_.begin())};
  }
  for (float& logit : logits_) logit /= options_.temperature;
  return draw(keep_probable(keep_most_likely()), history.size());
}

void Sampler::add_biases() {
  for (const auto& [token, bias] : options_.logit_bias)
    if (index_of(token) < usable_) logits_[index_of(token)] += bias;
}

void Sampler::forbid(std::span<const uint64_t> allowed) {
  SMOE_CHECK(allowed.size() * 64 >= usable_);
  for (uint32_t id = 0; id < usable_; ++id)
    if ((allowed[id / 64] >> (id % 64) & 1U) == 0)
      logits_[id] = -std::numeric_limits<float>::infinity();
}

void Sampler::penalize(std::span<const TokenId> history) {
  const auto recent = history.last(std::min<size_t>(history.size(), options_.repeat_last));
  for (const TokenId token : recent)
    if (index_of(token) < usable_) ++occurrences_[index_of(token)];
  for (const TokenId token : recent) {
    if (index_of(token) >= usable_) continue;
    uint16_t& count = occurrences_[index_of(token)];
    if (count == 0) continue;  // done already
    float& logit = logits_[index_of(token)];
    logit = logit > 0 ? logit / options_.repeat_penalty : logit * options_.repeat_penalty;
    logit -= options_.presence_penalty;
    logit -= options_.frequency_penalty * static_cast<float>(count);
    count = 0;
  }
}

// The top-k candidates that may be drawn at all, most likely first.
size_t Sampler::keep_most_likely() {
  for (uint32_t id = 0; id < usable_; ++id) candidates_[id] = {id, logits_[id], 0};
  const size_t count = options_.top_k == 0 ? usable_ : std::min<size_t>(options_.top_k, usable_);
  const auto better = [](const Candidate& a, const Candidate& b) {
    return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
  };
  std::partial_sort(candidates_.begin(), candidates_.begin() + static_cast<ptrdiff_t>(count),
                    candidates_.end(), better);
  size_t possible = count;
  while (possible > 1 && std::isinf(candidates_[possible - 1].logit)) --possible;
  return possible;
}

// Of `count` candidates in descending order, those that top-p and then min-p leave; at least one.
size_t Sampler::keep_probable(size_t count) {
  double total = 0;
  for (size_t i = 0; i < count; ++i) {
    candidates_[i].weight = std::exp(candidates_[i].logit - candidates_[0].logit);
    total += static_cast<double>(candidates_[i].weight);
  }
  size_t kept = count;
  if (options_.top_p < 1) {
    double sum = 0;
    for (kept = 0; kept < count;) {
      sum += static_cast<double>(candidates_[kept++].weight);
      if (sum >= static_cast<double>(options_.top_p) * total) break;
    }
  }
  // The largest weight is exactly 1, so min-p compares weights directly.
  while (kept > 1 && candidates_[kept - 1].weight < options_.min_p) --kept;
  return std::max<size_t>(kept, 1);
}

TokenId Sampler::draw(size_t count, uint64_t position) {
  double total = 0;
  for (size_t i = 0; i < count; ++i) total += static_cast<double>(candidates_[i].weight);
  double point = counted_uniform(options_.seed, position) * total;
  for (size_t i = 0; i + 1 < count; ++i) {
    point -= static_cast<double>(candidates_[i].weight);
    if (point < 0) return TokenId{candidates_[i].id};
  }
  return TokenId{candidates_[count - 1].id};
}

}  // namespace smoe
