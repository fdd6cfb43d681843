// How a model's own generation_config.json wants it sampled.
#pragma once

#include <filesystem>

#include "base/result.h"
#include "cli/settings.h"
#include "engine/generation.h"
#include "engine/sampler.h"

namespace smoe::cli {

// The sampling values of a run: flags (and what stands for them), then
// MODEL/generation_config.json, then the built-in ones. A seed that nobody gave is drawn. Fails:
// kCorrupt for a generation_config.json that is no JSON or has a value out of range.
Result<SamplerOptions> sampler_options(const Settings& settings);

// The settings with what `options` says of sampling, to be shown. A seed that nobody gave stays
// unset.
Settings effective_settings(Settings settings, const SamplerOptions& options);

// The sampling values, and what ends a text: `stops` (text/chat/stop_tokens.h) and the strings of
// --stop.
Result<GenerationOptions> generation_options(const Settings& settings, std::vector<TokenId> stops);

}  // namespace smoe::cli
