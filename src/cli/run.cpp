// smoe run: continues a prompt.
#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/generation_defaults.h"
#include "cli/input.h"
#include "cli/open_model.h"
#include "cli/run_report.h"
#include "engine/generation.h"
#include "engine/session.h"
#include "text/tokenizer.h"

namespace smoe::cli {
namespace {

Result<Tokenizer> load_tokenizer(const std::filesystem::path& model) {
  std::error_code ignored;
  if (std::filesystem::exists(model / "tokenizer.json", ignored)) return Tokenizer::load(model);
  return Error{Code::kNotFound,
               model.string() +
                   ": has no tokenizer.json, which turns text into tokens; copy the "
                   "checkpoint's into the folder (smoe logits works without)"};
}

Result<std::string> read_prompt(const Context& context) {
  if (context.settings.prompt) return *context.settings.prompt;
  if (context.terminal.stdin_is_terminal())
    return Error{
        Code::kUsage,
        "no prompt: give one as an argument, smoe run MODEL \"Once upon a time\", or pipe it "
        "in"};
  SMOE_TRY(Input input, read_input(std::nullopt, context.signals));
  return std::move(input.text);
}

// Shows how far a long prompt is, then takes itself off the screen.
class PromptProgress {
 public:
  explicit PromptProgress(const Terminal& terminal) : terminal_(terminal) {}
  ~PromptProgress() { clear(); }
  PromptProgress(const PromptProgress&) = delete;
  PromptProgress& operator=(const PromptProgress&) = delete;

  void update(size_t done, size_t total) {
    if (!terminal_.shows_progress() || done == total) return clear();
    terminal_.print_note(fmt::format("\r\033[Kprompt: {} of {} tokens", done, total));
    shown_ = true;
  }
  void clear() {
    if (shown_) terminal_.print_note("\r\033[K");
    shown_ = false;
  }

 private:
  const Terminal& terminal_;
  bool shown_ = false;
};

// Where the text goes: to the terminal piece by piece, or into the JSON answer at the end.
class TextOutput {
 public:
  TextOutput(Context& context, Engine& engine) : context_(context), engine_(engine) {}

  void add(std::string_view text) {
    if (context_.settings.json) {
      text_ += text;
      return;
    }
    if (!status_) return;
    status_ = context_.terminal.print(text);
    ends_line_ = text.ends_with('\n');
    // Nobody reads any more: stop computing.
    if (!status_ || context_.terminal.broken_pipe()) engine_.cancel();
  }
  // The shell's prompt should begin a line of its own.
  Status end() {
    if (status_ && !context_.settings.json && !ends_line_) return context_.terminal.print("\n");
    return status_;
  }
  const std::string& text() const { return text_; }

 private:
  Context& context_;
  Engine& engine_;
  Status status_;
  std::string text_;
  bool ends_line_ = true;
};

std::vector<TokenId> stop_tokens(const ModelSpec& spec) {
  std::vector<TokenId> tokens;
  for (const uint32_t id : spec.eos) tokens.push_back(TokenId{id});
  return tokens;
}

Result<Generation> write_text(Context& context, Engine& engine, const Tokenizer& tokenizer,
                              std::span<const TokenId> prompt, const GenerationOptions& options,
                              TextOutput& output) {
  SMOE_TRY(Session session, Session::open(engine));
  const CancelOnSignal cancel(context.signals, engine);
  PromptProgress progress(context.terminal);
  return generate(
      session, tokenizer, prompt, options,
      [&](size_t done, size_t total) { progress.update(done, total); },
      [&](std::string_view text) {
        progress.clear();
        output.add(text);
      });
}

void say_how_it_ended(const Context& context, const Engine& engine, const Generation& generation) {
  if (generation.finish == Finish::kContextFull)
    context.terminal.print_warning(fmt::format(
        "the context of {} tokens is full, the text ends here; --ctx makes it longer (this "
        "model was made for {})",
        engine.context(), engine.spec().context));
}

}  // namespace

Outcome run_command(Context& context) {
  const Settings& settings = context.settings;
  SMOE_TRY(const OpenModel model, open_model(context, std::nullopt));
  Engine& engine = *model.engine;
  SMOE_TRY(const Tokenizer tokenizer, load_tokenizer(settings.model));
  SMOE_TRY(const std::string prompt, read_prompt(context));
  auto tokens = tokenizer.encode(prompt, {.add_special = true, .parse_special = true});
  if (!tokens) return std::move(tokens).error().in("the prompt");

  GenerationOptions options;
  SMOE_TRY(options.sampler, sampler_options(settings));
  options.max_tokens = static_cast<uint32_t>(settings.max_tokens.value_or(0));
  options.stop_strings = settings.stop;
  options.stop_tokens = stop_tokens(engine.spec());

  TextOutput output(context, engine);
  if (!settings.json && context.terminal.stdout_is_terminal()) output.add(prompt);
  auto generation = write_text(context, engine, tokenizer, *tokens, options, output);
  SMOE_DO(output.end());
  if (!generation) return std::move(generation).error();
  if (settings.json)
    SMOE_DO(
        context.terminal.print(run_json(engine, *generation, output.text(), options.sampler.seed)));
  say_how_it_ended(context, engine, *generation);
  if (settings.stats) context.terminal.print_note("\n" + run_table(engine, *generation));
  if (generation->finish == Finish::kCancelled) return Error{Code::kCancelled, "stopped"};
  return ExitStatus::kDone;
}

}  // namespace smoe::cli
