// What a run did, as a table for people and as JSON.
#pragma once

#include <string>

#include "engine/engine.h"
#include "engine/generation.h"

namespace smoe::cli {

std::string run_table(const Engine& engine, const Generation& generation);

// {"text", "finish", "usage", "timings", "experts", "memory", "seed"}; see `smoe run --help`.
std::string run_json(const Engine& engine, const Generation& generation, std::string_view text,
                     uint64_t seed);

}  // namespace smoe::cli
