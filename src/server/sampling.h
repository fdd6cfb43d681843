// The sampling fields of a request, over the model's own values.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/token.h"
#include "engine/sampler.h"
#include "server/fields.h"

namespace smoe::server {

struct Sampling {
  SamplerOptions sampler;
  uint32_t max_tokens = 0;  // 0: until the model ends or the context is full
  std::vector<std::string> stops = {};
  std::vector<std::pair<TokenId, float>> logit_bias = {};
  bool ignore_eos = false;
};

inline constexpr size_t kMaxStops = 16;
inline constexpr size_t kMaxStopBytes = 256;
inline constexpr uint64_t kMaxAnswerTokens = 0x7fffffff;

// What the generation_config.json of a model folder or GGUF file says, else the values of OpenAI's
// API. Fails: kCorrupt for a file that is no JSON or has a value out of range.
Result<SamplerOptions> model_sampling(const std::filesystem::path& model);

// temperature, top_p, top_k, min_p, the penalties, seed, logit_bias, max_tokens and its later name,
// stop, ignore_eos, with the names of OpenAI and of llama-server. Without a seed one is drawn.
Sampling read_sampling(Fields& fields, const SamplerOptions& defaults, uint32_t vocabulary);

// {"temperature":…}: what is in force, for /props.
void write_sampling(JsonWriter& json, const SamplerOptions& options);

}  // namespace smoe::server
