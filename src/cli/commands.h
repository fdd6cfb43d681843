// One function a command. Each prints its answer and says how the program ends.
#pragma once

#include "base/result.h"
#include "cli/exit_status.h"
#include "cli/settings.h"
#include "cli/signals.h"
#include "cli/terminal.h"

namespace smoe::cli {

struct Context {
  const Settings& settings;
  Terminal& terminal;
  Signals& signals;
};

// An error is printed by main(); a status other than kDone is for what a command found and has
// already told (a damaged model).
using Outcome = Result<ExitStatus>;

Outcome shatter_command(Context& context);
Outcome run_command(Context& context);
Outcome inspect_command(Context& context);
Outcome verify_command(Context& context);
Outcome eval_command(Context& context);
Outcome logits_command(Context& context);
Outcome tokenize_command(Context& context);
Outcome chat_command(Context& context);
Outcome template_command(Context& context);
Outcome bench_command(Context& context);
Outcome trace_command(Context& context);
Outcome oracle_command(Context& context);
Outcome serve_command(Context& context);
Outcome quality_command(Context& context);
Outcome devices_command(Context& context);
Outcome doctor_command(Context& context);
Outcome plan_command(Context& context);

// --threads, else the processors that this process may use.
unsigned threads_of(const Settings& settings);

}  // namespace smoe::cli
