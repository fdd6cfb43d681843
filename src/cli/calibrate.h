// shatter --calibrate: what a text makes of a checkpoint's activations.
#pragma once

#include <memory>

#include "base/result.h"
#include "cli/commands.h"
#include "engine/importance.h"
#include "model/spec.h"

namespace smoe::cli {

struct TextImportance {
  std::unique_ptr<ModelSpec> spec;  // that the importance points to
  std::unique_ptr<Importance> importance;
};

// Runs --calibrate's text through the checkpoint as it lies. Fails: kUnsupported for weights that
// cannot be used as they lie (FP8); as Engine::open and Session::score; kUsage for an empty text.
Result<TextImportance> importance_of_text(Context& context);

}  // namespace smoe::cli
