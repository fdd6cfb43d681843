// What a run did, as a table for people and as JSON.
#pragma once

#include <string>

#include "cli/answer_output.h"
#include "engine/engine.h"
#include "engine/generation.h"

namespace smoe::cli {

// "37 tokens, 21.3 tokens/s"
std::string speed_line(const Generation& generation);
std::string run_table(const Engine& engine, const Generation& generation);

// {"text", "reasoning" (when there was any), "finish", "usage", "timings", "experts", "memory",
// "seed"}; see `smoe run --help`.
std::string run_json(const Engine& engine, const Generation& generation, const AnswerOutput& answer,
                     uint64_t seed);

}  // namespace smoe::cli
