// smoe trace: which experts a text demands, written to a file for smoe oracle.
#include "stream/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/units.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/open_model.h"
#include "cli/output_file.h"
#include "cli/prompt_progress.h"
#include "engine/session.h"
#include "shatter/unshattered.h"

namespace smoe::cli {

Outcome trace_command(Context& context) {
  const Settings& settings = context.settings;
  SMOE_DO(check_output(*settings.output, {settings.model, *settings.text_file}));
  SMOE_TRY(const ModelFiles files, open_model_files(settings.model));
  if (files.vault.empty())
    return Error{Code::kUnsupported, settings.model + ": has no experts, so nothing to trace"};
  TraceRecorder recorder(files.vault);
  // A chunk's union says little about decoding, so every token is a step of its own.
  SMOE_TRY(const OpenModel model, open_model(context, {.prompt_chunk = 1, .observer = &recorder}));
  Engine& engine = *model.engine;
  SMOE_TRY(const Tokenizer tokenizer, load_tokenizer(settings.model));
  SMOE_TRY(const Input input, read_input(settings.text_file, context.signals));
  auto tokens = tokenizer.encode(input.text);
  if (!tokens) return std::move(tokens).error().in(input.name);

  SMOE_TRY(Session session, Session::open(engine));
  const CancelOnSignal cancel(context.signals, engine);
  PromptProgress progress(context.terminal);
  for (size_t begin = 0; begin < tokens->size(); begin += engine.context()) {
    const auto part = std::span(*tokens).subspan(
        begin, std::min<size_t>(engine.context(), tokens->size() - begin));
    session.rewind(0);
    SMOE_DO(session.append(
        part, [&](size_t done, size_t) { progress.update(begin + done, tokens->size()); }));
  }
  progress.clear();
  const Trace& trace = recorder.trace();
  SMOE_DO(trace.write(*settings.output));
  SMOE_DO(context.terminal.print(fmt::format("{}: {} tokens, {} visits of layers, {} demands\n",
                                             *settings.output, tokens->size(), trace.visits(),
                                             trace.demands())));
  return ExitStatus::kDone;
}

}  // namespace smoe::cli
