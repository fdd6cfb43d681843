// From logits to a token: penalties, temperature, top-k, top-p, min-p, a seeded draw.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/token.h"

namespace smoe {

struct SamplerOptions {
  float temperature = 0.8F;  // below 1e-4: the most likely token
  uint32_t top_k = 40;       // 0: all
  float top_p = 0.95F;       // 1: all
  float min_p = 0.0F;        // 0: all; keeps p >= min_p * the largest p
  float repeat_penalty = 1;  // Keskar et al. 2019: positive logits divided, negative multiplied
  float presence_penalty = 0;
  float frequency_penalty = 0;
  uint32_t repeat_last = 64;  // tokens that the three penalties look back at; 0: none
  uint64_t seed = 0;
  std::vector<std::pair<TokenId, float>> logit_bias = {};  // added before the penalties
};

// What drawing one token needs of memory; samplers that draw by turns share it.
class SamplerWork {
  friend class Sampler;
  struct Candidate {
    uint32_t id;
    float logit;
    float weight;  // exp(logit - largest)
  };
  std::vector<float> logits_;          // [usable], penalised
  std::vector<uint16_t> occurrences_;  // [usable], all zero between calls
  std::vector<Candidate> candidates_;  // that may be drawn
};

class Sampler {
 public:
  // Logits from `usable` on belong to no token of the tokenizer and are never drawn. `work`
  // outlives the sampler.
  Sampler(const SamplerOptions& options, uint32_t vocabulary, uint32_t usable, SamplerWork& work);

  // `history`: the tokens so far, prompt included. The steps apply in this order: biases; penalties
  // for repetition, presence and frequency; temperature; top-k; top-p; min-p. Ties go to the lower
  // id. The random number is the seed's history.size()-th, so that a text is the same however its
  // draws lie between those of others. `allowed`, unless empty, has the bits of the tokens that may
  // be drawn (TokenMask); at least one. Cost: no allocation.
  // Fails: kNumeric when a logit is not finite.
  Result<TokenId> sample(std::span<const float> logits, std::span<const TokenId> history,
                         std::span<const uint64_t> allowed = {});

 private:
  using Candidate = SamplerWork::Candidate;

  void add_biases();
  void penalize(std::span<const TokenId> history);
  void take_candidates(std::span<const uint64_t> allowed);
  void keep_most_likely();
  void keep_probable();
  TokenId draw(uint64_t position) const;

  SamplerOptions options_;
  uint32_t usable_;
  SamplerWork& work_;
};

}  // namespace smoe
