// How far one model's predictions are from another's, position by position.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/token.h"

namespace smoe::cli {

// Of a model against its reference, both given the same tokens.
class Divergence {
 public:
  // The logits of both for one position, and the token that follows there.
  void add(std::span<const float> model, std::span<const float> reference, TokenId next);

  uint64_t positions() const { return divergences_.size(); }
  // Without any position these are not numbers.
  double perplexity() const;
  double reference_perplexity() const;
  // KL(reference || model) in nats: its mean over positions, and what a share of them stays below.
  double mean() const;
  double quantile(double share) const;
  // The share of positions at which both think the same token the likeliest.
  double agreement() const;

 private:
  std::vector<double> divergences_;
  double loss_ = 0;
  double reference_loss_ = 0;
  uint64_t agreed_ = 0;
};

}  // namespace smoe::cli
