#include "cli/generation_defaults.h"

#include <fmt/format.h>

#include <random>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/units.h"
#include "formats/companion.h"

namespace smoe::cli {
namespace {

namespace fs = std::filesystem;

// A number of generation_config.json and where it goes.
struct Field {
  std::string_view key;
  float SamplerOptions::*target;
  double least;
  double most;
};
constexpr Field kFields[] = {
    {"temperature", &SamplerOptions::temperature, 0, 100},
    {"top_p", &SamplerOptions::top_p, 0, 1},
    {"min_p", &SamplerOptions::min_p, 0, 1},
    {"repetition_penalty", &SamplerOptions::repeat_penalty, 1e-6, 100},
};

Error bad_value(const fs::path& path, std::string_view key, const Json& value,
                std::string_view wanted) {
  std::string shown = value.is_number()   ? std::string(value.number_text())
                      : value.is_string() ? json_quote(value.as_string()->substr(0, 40))
                                          : std::string("a value of another kind");
  return {Code::kCorrupt, fmt::format("{}: {} is {}, not {}", path.string(), key, shown, wanted)};
}

Status read_fields(const Json& config, const fs::path& path, SamplerOptions& options) {
  for (const Field& field : kFields) {
    const Json* value = config.find(field.key);
    if (value == nullptr || value->is_null()) continue;
    const auto number = value->as_double();
    if (!number || !(*number >= field.least && *number <= field.most))
      return bad_value(path, field.key, *value,
                       fmt::format("a number from {} to {}", field.least, field.most));
    options.*field.target = static_cast<float>(*number);
  }
  if (const Json* value = config.find("top_k"); value != nullptr && !value->is_null()) {
    // -1 is what vLLM's files say for all tokens, 0 what Hugging Face's do.
    const auto number = value->as_double() == -1.0 ? uint64_t{0} : value->as_uint();
    if (!number || *number > UINT32_MAX)
      return bad_value(path, "top_k", *value, "a whole number, 0 or -1 for all tokens");
    options.top_k = static_cast<uint32_t>(*number);
  }
  // The model's authors want the most likely token.
  const Json* sample = config.find("do_sample");
  if (sample != nullptr && sample->as_bool() == false) options.temperature = 0;
  return {};
}

Status read_generation_config(const fs::path& model, SamplerOptions& options) {
  constexpr std::string_view kName = "generation_config.json";
  SMOE_TRY(const auto text, read_companion(model, kName, kMiB));
  if (!text) return {};
  const fs::path path = companion_path(model, kName);
  auto config = Json::parse(*text, {.max_depth = 512, .unique_keys = false});
  if (!config) return std::move(config).error().in(path.string());
  if (!config->is_object())
    return Error{Code::kCorrupt, path.string() + ": is no JSON object with settings"};
  return read_fields(*config, path, options);
}

template <class From, class To>
void override_with(const std::optional<From>& value, To& target) {
  if (value) target = static_cast<To>(*value);
}

}  // namespace

Result<SamplerOptions> sampler_options(const Settings& settings) {
  SamplerOptions options;
  SMOE_DO(read_generation_config(settings.model, options));
  override_with(settings.temperature, options.temperature);
  override_with(settings.top_k, options.top_k);
  override_with(settings.top_p, options.top_p);
  override_with(settings.min_p, options.min_p);
  override_with(settings.repeat_penalty, options.repeat_penalty);
  override_with(settings.repeat_last_n, options.repeat_last);
  override_with(settings.presence_penalty, options.presence_penalty);
  override_with(settings.frequency_penalty, options.frequency_penalty);
  options.seed = settings.seed ? *settings.seed : std::random_device{}();
  return options;
}

Settings effective_settings(Settings settings, const SamplerOptions& options) {
  // As people write it: 0.7, not the double next to the float.
  const auto written = [](float value) { return std::stod(fmt::format("{}", value)); };
  settings.temperature = written(options.temperature);
  settings.top_k = options.top_k;
  settings.top_p = written(options.top_p);
  settings.min_p = written(options.min_p);
  settings.repeat_penalty = written(options.repeat_penalty);
  settings.repeat_last_n = options.repeat_last;
  settings.presence_penalty = written(options.presence_penalty);
  settings.frequency_penalty = written(options.frequency_penalty);
  return settings;
}

Result<GenerationOptions> generation_options(const Settings& settings, std::vector<TokenId> stops) {
  GenerationOptions options;
  SMOE_TRY(options.sampler, sampler_options(settings));
  options.max_tokens = static_cast<uint32_t>(settings.max_tokens.value_or(0));
  options.stop_strings = settings.stop;
  options.stop_tokens = std::move(stops);
  return options;
}

}  // namespace smoe::cli
