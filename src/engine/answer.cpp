#include "engine/answer.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace smoe {
namespace {

std::vector<std::pair<TokenId, float>> most_likely(std::span<const float> logits, uint32_t count) {
  std::vector<uint32_t> order(logits.size());
  for (uint32_t id = 0; id < order.size(); ++id) order[id] = id;
  const size_t kept = std::min<size_t>(count, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<ptrdiff_t>(kept), order.end(),
                    [&](uint32_t a, uint32_t b) {
                      return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
                    });
  std::vector<std::pair<TokenId, float>> result;
  result.reserve(kept);
  for (size_t i = 0; i < kept; ++i) result.emplace_back(TokenId{order[i]}, logits[order[i]]);
  return result;
}

}  // namespace

TokenLogprobs logprobs_of(std::span<const float> logits, uint32_t usable, TokenId token,
                          uint32_t top) {
  SMOE_CHECK(index_of(token) < usable && usable <= logits.size());
  const auto candidates = logits.first(usable);
  const float largest = *std::max_element(candidates.begin(), candidates.end());
  double sum = 0;
  for (const float logit : candidates) sum += std::exp(static_cast<double>(logit - largest));
  const double total = static_cast<double>(largest) + std::log(sum);
  const auto logprob = [&](float logit) {
    return static_cast<float>(static_cast<double>(logit) - total);
  };
  TokenLogprobs result;
  result.logprob = logprob(candidates[index_of(token)]);
  if (top > 0) result.top = most_likely(candidates, top);
  for (auto& alternative : result.top) alternative.second = logprob(alternative.second);
  return result;
}

Answer::Answer(GenerationOptions options, uint32_t vocabulary, const Tokenizer& tokenizer,
               std::unique_ptr<TokenFilter> filter, SamplerWork& work)
    : options_(std::move(options)),
      usable_(std::min(vocabulary, static_cast<uint32_t>(tokenizer.size()))),
      sampler_(options_.sampler, vocabulary, usable_, work),
      detokenizer_(tokenizer),
      stops_(options_.stop_strings),
      filter_(std::move(filter)),
      allowed_(filter_ ? (usable_ + 63) / 64 : 0) {}

Result<std::optional<TokenId>> Answer::draw(std::span<const float> logits,
                                            std::span<const TokenId> history) {
  SMOE_CHECK(!finish_);
  text_.clear();
  if (filter_ && !allow_any()) {
    finish_ = Finish::kStop;
    return std::optional<TokenId>();
  }
  SMOE_TRY(const TokenId token, sampler_.sample(logits, history, allowed_));
  const auto& ends = options_.stop_tokens;
  if (std::find(ends.begin(), ends.end(), token) != ends.end()) {
    finish_ = Finish::kStop;
    return std::optional<TokenId>();
  }
  if (filter_) filter_->accept(token);
  tokens_.push_back(token);
  text_ = stops_.push(detokenizer_.push(token));
  if (stops_.matched()) {
    finish_ = Finish::kStop;
  } else if (tokens_.size() == options_.max_tokens) {
    finish_ = Finish::kLength;
  }
  return std::optional(token);
}

bool Answer::allow_any() {
  std::fill(allowed_.begin(), allowed_.end(), 0);
  filter_->allow(allowed_);
  if (usable_ % 64 != 0) allowed_.back() &= (uint64_t{1} << usable_ % 64) - 1;
  return std::any_of(allowed_.begin(), allowed_.end(), [](uint64_t word) { return word != 0; });
}

std::string Answer::rest() {
  std::string rest = stops_.push(detokenizer_.finish());
  if (!stops_.matched()) {
    rest += stops_.finish();
  } else {
    finish_ = Finish::kStop;
  }
  return rest;
}

}  // namespace smoe
