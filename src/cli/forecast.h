// How fast a model will run in a budget of memory: arithmetic on what a short probe has measured.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "engine/engine.h"
#include "engine/rehearsal.h"
#include "engine/speed_report.h"
#include "model/memory_plan.h"
#include "model/spec.h"
#include "stream/disk_probe.h"

namespace smoe::cli {

// What does not depend on the budget.
struct Measurements {
  DiskSpeed disk;
  Rehearsal rehearsal;
  std::optional<double> hit_rate;  // that earlier runs of the same plan had
};

struct Forecast {
  double resident_share = 1;       // of the experts
  double hit_rate = 1;             // of the demands, once the ring is full
  double token_bytes = 0;          // read for a token
  double compute_seconds = 0;      // of a token
  double disk_seconds = 0;         // of a token
  double token_seconds = 0;        // both, overlapped
  double prompt_bytes = 0;         // read for the prompt, cold
  double first_token_seconds = 0;  // after a cold start
  Limit limit = Limit::kCompute;

  double tokens_per_second() const { return token_seconds > 0 ? 1 / token_seconds : 0; }
};

// What routing that is no more skewed than usual finds in a ring that holds `share` of the experts.
double typical_hit_rate(double share);

// `plan` was made for the same spec and sizes.
Forecast forecast_of(const ModelSpec& spec, const ModelSizes& sizes, const MemoryPlan& plan,
                     const Measurements& measured, uint32_t prompt_tokens);

}  // namespace smoe::cli
