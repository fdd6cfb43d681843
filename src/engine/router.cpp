#include "engine/router.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.h"

namespace smoe {
namespace {

// The k best experts of one token, best first; a tie goes to the lower index.
void choose(std::span<const float> logits, std::span<uint16_t> order, std::span<uint16_t> chosen) {
  std::iota(order.begin(), order.end(), uint16_t{0});
  const auto better = [&](uint16_t a, uint16_t b) {
    return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
  };
  std::partial_sort(order.begin(), order.begin() + static_cast<ptrdiff_t>(chosen.size()),
                    order.end(), better);
  std::copy_n(order.begin(), chosen.size(), chosen.begin());
}

// Every rule's arithmetic stands here and nowhere else.
void weigh(const RouterSpec& rule, std::span<const float> logits, std::span<const uint16_t> chosen,
           std::span<float> weights) {
  const float top = logits[chosen[0]];
  float sum = 0;
  switch (rule.score) {
    case Score::kSoftmaxThenTopK:
      for (const float logit : logits) sum += std::exp(logit - top);
      break;
    case Score::kTopKThenSoftmax:
      for (const uint16_t expert : chosen) sum += std::exp(logits[expert] - top);
      break;
  }
  float kept = 0;
  for (size_t i = 0; i < chosen.size(); ++i) {
    weights[i] = std::exp(logits[chosen[i]] - top) / sum;
    kept += weights[i];
  }
  for (float& weight : weights) {
    if (rule.renormalize) weight /= kept;
    weight *= rule.scale;
  }
}

// Turns the choice of each token into the rows of each expert.
void group_by_expert(uint32_t tokens, uint32_t experts, Routing& routing, RouterWork& work) {
  std::fill_n(work.counts.begin(), experts, 0U);
  const size_t choices = size_t{tokens} * routing.active;
  for (size_t i = 0; i < choices; ++i) ++work.counts[routing.experts[i]];

  routing.members.clear();
  uint32_t begin = 0;
  for (uint32_t expert = 0; expert < experts; ++expert) {
    const uint32_t count = work.counts[expert];
    if (count > 0) routing.members.push_back({static_cast<uint16_t>(expert), begin, count});
    work.counts[expert] = begin;  // now the place of this expert's next row
    begin += count;
  }
  routing.member_rows.resize(choices);
  routing.member_weights.resize(choices);
  for (size_t i = 0; i < choices; ++i) {
    const uint32_t place = work.counts[routing.experts[i]]++;
    routing.member_rows[place] = static_cast<uint32_t>(i / routing.active);
    routing.member_weights[place] = routing.weights[i];
  }
}

// What is known of all experts, chosen or not, whatever the rule by which they are chosen.
void summarize(std::span<const float> logits, Routing& routing, RouterWork& work) {
  const size_t experts = work.order.size();
  routing.probabilities.assign(experts, 0.0F);
  routing.ranks.resize(experts);
  for (size_t begin = 0; begin < logits.size(); begin += experts) {
    const auto row = logits.subspan(begin, experts);
    const float top = *std::max_element(row.begin(), row.end());
    float sum = 0;
    for (const float logit : row) sum += std::exp(logit - top);
    for (size_t i = 0; i < experts; ++i) routing.probabilities[i] += std::exp(row[i] - top) / sum;
  }
  std::iota(work.order.begin(), work.order.end(), uint16_t{0});
  std::sort(work.order.begin(), work.order.end(), [&](uint16_t a, uint16_t b) {
    const float of_a = routing.probabilities[a];
    const float of_b = routing.probabilities[b];
    return of_a != of_b ? of_a > of_b : a < b;
  });
  for (size_t rank = 0; rank < experts; ++rank)
    routing.ranks[work.order[rank]] = static_cast<uint16_t>(rank);
}

void prepare(const FfnSpec& ffn, uint32_t tokens, Routing& routing, RouterWork& work) {
  routing.active = ffn.router.active_experts;
  routing.experts.resize(size_t{tokens} * routing.active);
  routing.weights.resize(size_t{tokens} * routing.active);
  work.order.resize(ffn.experts);
  work.counts.resize(ffn.experts);
}

Error not_finite(uint32_t token) {
  return {Code::kNumeric, fmt::format("the router's logits of row {} are not finite", token)};
}

}  // namespace

RouterNumbers Routing::numbers() const {
  const auto tokens = static_cast<uint32_t>(experts.size() / active);
  if (!summarize) return {{}, {}, tokens, active};
  return {probabilities, ranks, tokens, active};
}

void Routing::reserve(uint32_t tokens, uint32_t active_experts, uint32_t experts_of_layer) {
  const size_t choices = size_t{tokens} * active_experts;
  experts.reserve(choices);
  weights.reserve(choices);
  member_rows.reserve(choices);
  member_weights.reserve(choices);
  members.reserve(experts_of_layer);
  probabilities.reserve(experts_of_layer);
  ranks.reserve(experts_of_layer);
}

Status route(const FfnSpec& ffn, std::span<const float> logits, Routing& routing,
             RouterWork& work) {
  SMOE_CHECK(ffn.experts > 0 && logits.size() % ffn.experts == 0);
  const auto tokens = static_cast<uint32_t>(logits.size() / ffn.experts);
  prepare(ffn, tokens, routing, work);
  for (uint32_t token = 0; token < tokens; ++token) {
    const auto row = logits.subspan(size_t{token} * ffn.experts, ffn.experts);
    if (!std::all_of(row.begin(), row.end(), [](float value) { return std::isfinite(value); }))
      return not_finite(token);
    const auto chosen =
        std::span(routing.experts).subspan(size_t{token} * routing.active, routing.active);
    const auto weights =
        std::span(routing.weights).subspan(size_t{token} * routing.active, routing.active);
    choose(row, work.order, chosen);
    weigh(ffn.router, row, chosen, weights);
  }
  group_by_expert(tokens, ffn.experts, routing, work);
  if (routing.summarize) summarize(logits, routing, work);
  return {};
}

Status take_routing(const FfnSpec& ffn, std::span<const float> routed,
                    std::span<const float> logits, Routing& routing, RouterWork& work) {
  const uint32_t active = ffn.router.active_experts;
  SMOE_CHECK(routed.size() % (size_t{3} * active) == 0);
  const auto tokens = static_cast<uint32_t>(routed.size() / (size_t{3} * active));
  prepare(ffn, tokens, routing, work);
  for (uint32_t token = 0; token < tokens; ++token) {
    const auto row = routed.subspan(size_t{token} * 3 * active, size_t{3} * active);
    for (uint32_t i = 0; i < active; ++i) {
      if (!std::isfinite(row[active + i])) return not_finite(token);
      routing.experts[size_t{token} * active + i] = static_cast<uint16_t>(row[i]);
      routing.weights[size_t{token} * active + i] = row[active + i];
    }
  }
  group_by_expert(tokens, ffn.experts, routing, work);
  if (routing.summarize) summarize(logits, routing, work);
  return {};
}

}  // namespace smoe
