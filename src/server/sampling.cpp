#include "server/sampling.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <limits>
#include <random>

#include "base/units.h"
#include "formats/companion.h"

namespace smoe::server {
namespace {

namespace fs = std::filesystem;

// A real number of a request or of generation_config.json, and where it goes. What both call the
// same stands here once.
struct RealSampling {
  std::string_view request_name;
  std::string_view config_name;
  float SamplerOptions::*target;
  double least;
  double most;
};
constexpr std::array kReals{
    RealSampling{"temperature", "temperature", &SamplerOptions::temperature, 0, 2},
    RealSampling{"top_p", "top_p", &SamplerOptions::top_p, 0, 1},
    RealSampling{"min_p", "min_p", &SamplerOptions::min_p, 0, 1},
    RealSampling{"repeat_penalty", "repetition_penalty", &SamplerOptions::repeat_penalty, 0.01, 10},
    RealSampling{"repetition_penalty", "", &SamplerOptions::repeat_penalty, 0.01, 10},
    RealSampling{"presence_penalty", "", &SamplerOptions::presence_penalty, -2, 2},
    RealSampling{"frequency_penalty", "", &SamplerOptions::frequency_penalty, -2, 2},
};
constexpr double kMostConfigured = 100;  // authors' files are read more generously than requests
constexpr double kMostBias = 100;
constexpr uint64_t kMostSeed = std::numeric_limits<uint64_t>::max();

Error bad_config(const fs::path& path, std::string_view key) {
  return {Code::kCorrupt, fmt::format("{}: {} is no number in its range", path.string(), key)};
}

Status read_config(const Json& config, const fs::path& path, SamplerOptions& options) {
  for (const RealSampling& field : kReals) {
    const Json* value = field.config_name.empty() ? nullptr : config.find(field.config_name);
    if (value == nullptr || value->is_null()) continue;
    const auto number = value->as_double();
    if (!number || !(*number >= field.least && *number <= std::max(field.most, kMostConfigured)))
      return bad_config(path, field.config_name);
    options.*field.target = static_cast<float>(*number);
  }
  if (const Json* value = config.find("top_k"); value != nullptr && !value->is_null()) {
    // Files say 0 or -1 for all tokens.
    const auto number = value->as_double() == -1.0 ? uint64_t{0} : value->as_uint();
    if (!number || *number > UINT32_MAX) return bad_config(path, "top_k");
    options.top_k = static_cast<uint32_t>(*number);
  }
  const Json* sample = config.find("do_sample");
  if (sample != nullptr && sample->as_bool() == false) options.temperature = 0;
  return {};
}

void add_bias(Fields& fields, std::string_view id_text, const Json& value, uint32_t vocabulary,
              Sampling& sampling) {
  uint32_t id = 0;
  const char* end = id_text.data() + id_text.size();
  const auto parsed = std::from_chars(id_text.data(), end, id);
  if (parsed.ec != std::errc() || parsed.ptr != end || id >= vocabulary) {
    fields.fail("logit_bias",
                fmt::format("names '{}', which is no token id below {}", id_text, vocabulary));
    return;
  }
  // llama-server: false forbids the token.
  const auto bias = value.as_bool() == false
                        ? std::optional(-std::numeric_limits<double>::infinity())
                        : value.as_double();
  if (!value.is_number() && value.as_bool() != false) {
    fields.fail("logit_bias", fmt::format("has no number for token {}", id));
  } else if (value.is_number() && !(bias && *bias >= -kMostBias && *bias <= kMostBias)) {
    fields.fail("logit_bias", fmt::format("of token {} is not from -100 to 100", id));
  } else {
    sampling.logit_bias.emplace_back(TokenId{id}, static_cast<float>(*bias));
  }
}

// {"15043": 1.5}, or [[15043, 1.5], [7, false]].
void read_bias(Fields& fields, uint32_t vocabulary, Sampling& sampling) {
  const Json* value = fields.find("logit_bias");
  if (value == nullptr) return;
  if (value->is_object()) {
    for (const auto& [id, bias] : value->members())
      add_bias(fields, id, bias, vocabulary, sampling);
    return;
  }
  if (!value->is_array()) fields.fail("logit_bias", "is neither an object nor an array of pairs");
  for (const Json& pair : value->items()) {
    if (pair.items().size() != 2 || !pair.items()[0].is_number()) {
      fields.fail("logit_bias", "has an item that is no pair of a token id and a number");
      return;
    }
    add_bias(fields, pair.items()[0].number_text(), pair.items()[1], vocabulary, sampling);
  }
}

// Clients send -1 for "draw one".
uint64_t read_seed(Fields& fields) {
  const Json* value = fields.find("seed");
  const bool wants_random = value != nullptr && value->is_number() && value->as_int() == -1;
  if (value != nullptr && !wants_random)
    if (const auto seed = fields.count("seed", 0, kMostSeed)) return *seed;
  return std::random_device{}();
}

}  // namespace

Result<SamplerOptions> model_sampling(const fs::path& model) {
  SamplerOptions options{.temperature = 1, .top_k = 0, .top_p = 1};
  constexpr std::string_view kName = "generation_config.json";
  SMOE_TRY(const auto text, read_companion(model, kName, kMiB));
  if (!text) return options;
  const fs::path path = companion_path(model, kName);
  auto config = Json::parse(*text, {.max_depth = 512, .unique_keys = false});
  if (!config) return std::move(config).error().in(path.string());
  SMOE_DO(read_config(*config, path, options));
  return options;
}

Sampling read_sampling(Fields& fields, const SamplerOptions& defaults, uint32_t vocabulary) {
  Sampling sampling{.sampler = defaults};
  for (const RealSampling& field : kReals)
    if (const auto number = fields.real(field.request_name, field.least, field.most))
      sampling.sampler.*field.target = static_cast<float>(*number);
  if (const auto number = fields.count("top_k", 0, kMaxAnswerTokens))
    sampling.sampler.top_k = static_cast<uint32_t>(*number);
  if (const auto number = fields.count("repeat_last_n", 0, kMaxAnswerTokens))
    sampling.sampler.repeat_last = static_cast<uint32_t>(*number);
  for (const std::string_view name : {"max_tokens", "max_completion_tokens"})
    if (const auto number = fields.count(name, 1, kMaxAnswerTokens))
      sampling.max_tokens = static_cast<uint32_t>(*number);
  if (const auto number = fields.real("typical_p", 0, 1); number && *number < 1)
    fields.fail("typical_p", "is not supported; top_p and min_p are");
  sampling.sampler.seed = read_seed(fields);
  sampling.stops = fields.texts("stop", kMaxStops, kMaxStopBytes);
  sampling.ignore_eos = fields.flag("ignore_eos").value_or(false);
  read_bias(fields, vocabulary, sampling);
  return sampling;
}

void write_sampling(JsonWriter& json, const SamplerOptions& options) {
  json.begin_object();
  json.member("temperature", options.temperature).member("top_k", options.top_k);
  json.member("top_p", options.top_p).member("min_p", options.min_p);
  json.member("repeat_penalty", options.repeat_penalty);
  json.member("repeat_last_n", options.repeat_last);
  json.member("presence_penalty", options.presence_penalty);
  json.member("frequency_penalty", options.frequency_penalty);
  json.end_object();
}

}  // namespace smoe::server
