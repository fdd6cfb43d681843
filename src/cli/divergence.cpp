#include "cli/divergence.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace smoe::cli {
namespace {

// What to take from a logit to get the logarithm of its probability.
double log_total(std::span<const float> logits) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - largest);
  return largest + std::log(sum);
}

size_t likeliest(std::span<const float> logits) {
  return static_cast<size_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

}  // namespace

void Divergence::add(std::span<const float> model, std::span<const float> reference, TokenId next) {
  const double model_total = log_total(model);
  const double reference_total = log_total(reference);
  double divergence = 0;
  for (size_t i = 0; i < reference.size(); ++i) {
    const double wanted = static_cast<double>(reference[i]) - reference_total;
    const double found = static_cast<double>(model[i]) - model_total;
    divergence += std::exp(wanted) * (wanted - found);
  }
  // Rounding may leave a little less than the nothing that equal predictions are apart.
  divergences_.push_back(std::max(divergence, 0.0));
  loss_ += model_total - static_cast<double>(model[index_of(next)]);
  reference_loss_ += reference_total - static_cast<double>(reference[index_of(next)]);
  if (likeliest(model) == likeliest(reference)) ++agreed_;
}

double Divergence::perplexity() const { return std::exp(loss_ / static_cast<double>(positions())); }

double Divergence::reference_perplexity() const {
  return std::exp(reference_loss_ / static_cast<double>(positions()));
}

double Divergence::mean() const {
  return std::accumulate(divergences_.begin(), divergences_.end(), 0.0) /
         static_cast<double>(positions());
}

double Divergence::quantile(double share) const {
  if (divergences_.empty()) return std::nan("");
  std::vector<double> sorted = divergences_;
  const auto rank = static_cast<size_t>(share * static_cast<double>(sorted.size()));
  const auto at = sorted.begin() + static_cast<std::ptrdiff_t>(std::min(rank, sorted.size() - 1));
  std::nth_element(sorted.begin(), at, sorted.end());
  return *at;
}

double Divergence::agreement() const {
  return static_cast<double>(agreed_) / static_cast<double>(positions());
}

}  // namespace smoe::cli
