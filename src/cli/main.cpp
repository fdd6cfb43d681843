// smoe: one binary, one verb. Puts the rooms together.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <string>
#include <variant>
#include <vector>

#include "base/check.h"
#include "base/guard.h"
#include "base/log.h"
#include "base/system_memory.h"
#include "cli/commands.h"
#include "cli/options.h"

namespace smoe::cli {
namespace {

struct Entry {
  CommandId id;
  Outcome (*run)(Context& context);
};

constexpr std::array kEntries{
    Entry{CommandId::kShatter, shatter_command},   Entry{CommandId::kRun, run_command},
    Entry{CommandId::kInspect, inspect_command},   Entry{CommandId::kVerify, verify_command},
    Entry{CommandId::kEval, eval_command},         Entry{CommandId::kLogits, logits_command},
    Entry{CommandId::kTokenize, tokenize_command}, Entry{CommandId::kChat, chat_command},
    Entry{CommandId::kTemplate, template_command}, Entry{CommandId::kBench, bench_command},
    Entry{CommandId::kTrace, trace_command},       Entry{CommandId::kOracle, oracle_command},
    Entry{CommandId::kServe, serve_command},       Entry{CommandId::kQuality, quality_command},
    Entry{CommandId::kDevices, devices_command},   Entry{CommandId::kDoctor, doctor_command},
    Entry{CommandId::kPlan, plan_command},
};

Status set_up_log(const Settings& settings) {
  log::Options options;
  options.level = settings.log_level;
  if (settings.quiet && options.level < log::Level::kError) options.level = log::Level::kError;
  options.file = settings.log_file.value_or("");
  options.json = settings.log_jsonl;
  return log::set_up(options);
}

Outcome dispatch(Context& context) {
  SMOE_DO(set_up_log(context.settings));
  for (const Entry& entry : kEntries)
    if (entry.id == context.settings.command) return entry.run(context);
  check_failed("every command has an entry", __FILE__, __LINE__);
}

ExitStatus status_of(const Error& error, const Signals& signals) {
  const ExitStatus status = exit_status_of(error.code);
  if (status == ExitStatus::kInterrupted && signals.received() == SIGTERM)
    return ExitStatus::kTerminated;
  return status;
}

// An interrupt has been asked for: it is no error to tell about.
ExitStatus report(const Error& error, Terminal& terminal, const Signals& signals) {
  if (error.code != Code::kCancelled || signals.received() == 0) terminal.print_error(error);
  return status_of(error, signals);
}

// A stream that the caller closed would be the next file that is opened, a model's or one to write:
// its place is taken by something that fails every read (of stdin) or write, as a closed one does.
void occupy_closed_streams() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(descriptor, F_GETFD) < 0)
      static_cast<void>(::open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY));
}

ExitStatus run(std::span<const std::string> arguments) {
  occupy_closed_streams();
  Signals signals;
  const Environment environment = process_environment();
  Terminal terminal(environment);
  terminal.set({.json = wants_json(arguments)});

  const auto parsed = parse_options(arguments, environment);
  if (!parsed) return report(parsed.error(), terminal, signals);
  if (const auto* answer = std::get_if<Answer>(&*parsed)) {
    const Status printed = terminal.print(answer->text);
    if (!printed) return report(printed.error(), terminal, signals);
    return terminal.broken_pipe() ? ExitStatus::kBrokenPipe : ExitStatus::kDone;
  }

  const Request& request = std::get<Request>(*parsed);
  terminal.set({.quiet = request.settings.quiet, .json = request.settings.json});
  for (const std::string& warning : request.warnings) terminal.print_warning(warning);

  Context context{request.settings, terminal, signals};
  const Outcome outcome = dispatch(context);
  if (terminal.broken_pipe()) return ExitStatus::kBrokenPipe;
  if (!outcome) return report(outcome.error(), terminal, signals);
  return *outcome;
}

}  // namespace

unsigned threads_of(const Settings& settings) {
  return settings.threads ? static_cast<unsigned>(*settings.threads) : usable_processors();
}

}  // namespace smoe::cli

int main(int count, char** values) {
  // What a room's own guard does not see ends here: as one line, not as an abort.
  const auto status = smoe::guarded([&]() -> smoe::Result<smoe::cli::ExitStatus> {
    const std::vector<std::string> arguments(values + (count > 0 ? 1 : 0), values + count);
    return smoe::cli::run(arguments);
  });
  if (status) return static_cast<int>(*status);
  std::fprintf(stderr, "smoe: error: %s\n", status.error().message.c_str());
  return static_cast<int>(smoe::cli::ExitStatus::kFailed);
}
