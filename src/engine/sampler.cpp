#include "engine/sampler.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/rng.h"

namespace smoe {
namespace {

constexpr float kGreedyBelow = 1e-4F;

// How many candidates are sorted at first; more where these do not reach top-p.
constexpr size_t kFirstSorted = 256;

constexpr auto kLikelier = [](const auto& a, const auto& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
};

}  // namespace

Sampler::Sampler(const SamplerOptions& options, uint32_t vocabulary, uint32_t usable,
                 SamplerWork& work)
    : options_(options), usable_(std::min(vocabulary, usable)), work_(work) {
  SMOE_CHECK(usable_ > 0);
  work_.logits_.resize(usable_);
  work_.occurrences_.resize(usable_);
  work_.candidates_.reserve(usable_);
}

Result<TokenId> Sampler::sample(std::span<const float> logits, std::span<const TokenId> history,
                                std::span<const uint64_t> allowed) {
  SMOE_CHECK(logits.size() >= usable_ && work_.logits_.size() == usable_);
  std::copy_n(logits.begin(), usable_, work_.logits_.begin());
  if (!std::all_of(work_.logits_.begin(), work_.logits_.end(),
                   [](float v) { return std::isfinite(v); }))
    return Error{Code::kNumeric, "the logits are not finite"};
  add_biases();
  penalize(history);
  take_candidates(allowed);
  if (options_.temperature < kGreedyBelow) {
    const auto& all = work_.candidates_;
    return TokenId{std::min_element(all.begin(), all.end(), kLikelier)->id};
  }
  for (Candidate& one : work_.candidates_) one.logit /= options_.temperature;
  keep_most_likely();
  keep_probable();
  return draw(history.size());
}

void Sampler::add_biases() {
  for (const auto& [token, bias] : options_.logit_bias)
    if (index_of(token) < usable_) work_.logits_[index_of(token)] += bias;
}

void Sampler::penalize(std::span<const TokenId> history) {
  const auto recent = history.last(std::min<size_t>(history.size(), options_.repeat_last));
  for (const TokenId token : recent)
    if (index_of(token) < usable_) ++work_.occurrences_[index_of(token)];
  for (const TokenId token : recent) {
    if (index_of(token) >= usable_) continue;
    uint16_t& count = work_.occurrences_[index_of(token)];
    if (count == 0) continue;  // done already
    float& logit = work_.logits_[index_of(token)];
    logit = logit > 0 ? logit / options_.repeat_penalty : logit * options_.repeat_penalty;
    logit -= options_.presence_penalty;
    logit -= options_.frequency_penalty * static_cast<float>(count);
    count = 0;
  }
}

void Sampler::take_candidates(std::span<const uint64_t> allowed) {
  SMOE_CHECK(allowed.empty() || allowed.size() * 64 >= usable_);
  work_.candidates_.clear();
  for (uint32_t id = 0; id < usable_; ++id)
    if (allowed.empty() || (allowed[id / 64] >> (id % 64) & 1U) != 0)
      work_.candidates_.push_back({id, work_.logits_[id], 0});
  SMOE_CHECK(!work_.candidates_.empty());
}

// The top-k candidates.
void Sampler::keep_most_likely() {
  auto& all = work_.candidates_;
  if (options_.top_k == 0 || options_.top_k >= all.size()) return;
  std::partial_sort(all.begin(), all.begin() + static_cast<ptrdiff_t>(options_.top_k), all.end(),
                    kLikelier);
  all.resize(options_.top_k);
}

// Of the candidates those that top-p and then min-p leave; at least one. A vocabulary of 150,000
// takes 10 ms to sort, and the few that matter are almost always among its first.
void Sampler::keep_probable() {
  auto& all = work_.candidates_;
  const float largest = std::min_element(all.begin(), all.end(), kLikelier)->logit;
  double total = 0;
  for (Candidate& one : all) {
    one.weight = std::exp(one.logit - largest);
    total += static_cast<double>(one.weight);
  }
  if (options_.top_p >= 1 && options_.min_p <= 0) return;

  const double enough =
      options_.top_p < 1 ? static_cast<double>(options_.top_p) * total : total * 2;
  double sum = 0;
  size_t sorted = 0;
  size_t kept = 0;
  while (kept < all.size()) {
    if (kept == sorted) {
      sorted = std::min(all.size(), std::max(kFirstSorted, sorted * 8));
      std::partial_sort(all.begin() + static_cast<ptrdiff_t>(kept),
                        all.begin() + static_cast<ptrdiff_t>(sorted), all.end(), kLikelier);
    }
    // The largest weight is exactly 1, so min-p compares weights directly.
    if (kept > 0 && all[kept].weight < options_.min_p) break;
    sum += static_cast<double>(all[kept++].weight);
    if (sum >= enough) break;
  }
  all.resize(kept);
}

TokenId Sampler::draw(uint64_t position) const {
  const auto& all = work_.candidates_;
  double total = 0;
  for (const Candidate& one : all) total += static_cast<double>(one.weight);
  double point = counted_uniform(options_.seed, position) * total;
  for (const Candidate& one : all) {
    point -= static_cast<double>(one.weight);
    if (point < 0) return TokenId{one.id};
  }
  // Rounding has left a little over: it goes to the last that has any chance.
  return TokenId{std::find_if(all.rbegin(), all.rend(), [](const Candidate& one) {
                   return one.weight > 0;
                 })->id};
}

}  // namespace smoe
