// smoe run: one prompt, one answer.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/log.h"
#include "base/units.h"
#include "cli/answer_grammar.h"
#include "cli/answer_output.h"
#include "cli/commands.h"
#include "cli/forecast_log.h"
#include "cli/generation_defaults.h"
#include "cli/input.h"
#include "cli/open_model.h"
#include "cli/prompt_progress.h"
#include "cli/run_report.h"
#include "engine/generation.h"
#include "engine/session.h"
#include "formats/companion.h"
#include "text/chat/chat_format.h"
#include "text/chat/stop_tokens.h"
#include "text/end_tokens.h"
#include "text/tokenizer.h"
#include "text/utf8.h"

namespace smoe::cli {
namespace {

Result<std::string> read_prompt(const Context& context, const ContextLimit& limit) {
  if (context.settings.prompt) {
    SMOE_DO(limit.check("the prompt", context.settings.prompt->size()));
    return *context.settings.prompt;
  }
  if (context.terminal.stdin_is_terminal())
    return Error{Code::kUsage,
                 "no prompt: give one as an argument, smoe run MODEL \"Once upon a time\", or pipe "
                 "it in; smoe chat talks"};
  SMOE_TRY(Input input, read_input(limit, context.signals));
  return std::move(input.text);
}

struct Prompt {
  std::vector<TokenId> tokens;
  std::optional<ReasoningSplitter> splitter;
  bool raw = true;  // continued as it is
  bool thought_begun = false;
};

// The prompt as a message in the model's chat template.
Result<Prompt> chat_prompt(const Settings& settings, const ChatFormat& format, std::string text) {
  std::vector<Message> messages;
  if (settings.system) messages.push_back({"system", *settings.system, ""});
  messages.push_back({"user", std::move(text), ""});
  SMOE_TRY(ChatPrompt chat, format.prompt(messages, {settings.think, local_time()}));
  const ReasoningMarks marks;
  const bool begun = ends_in_thought(chat.text, marks);
  return Prompt{std::move(chat.tokens), ReasoningSplitter(marks, begun), false, begun};
}

// BOS, and EOS where the model wants it, once: the prompt may spell them out.
Result<EndTokens> end_tokens_of(const std::filesystem::path& model, const Tokenizer& tokenizer) {
  constexpr std::string_view kName = "tokenizer_config.json";
  SMOE_TRY(const auto config, read_companion(model, kName, 64 * kMiB));
  auto ends = read_end_tokens(config.value_or(""), tokenizer);
  if (!ends) return std::move(ends).error().in(companion_path(model, kName).string());
  return ends;
}

Result<Prompt> make_prompt(const Context& context, const Tokenizer& tokenizer,
                           const ContextLimit& limit) {
  const Settings& settings = context.settings;
  if (settings.system && !is_utf8(*settings.system))
    return Error{Code::kUsage, "--system is no UTF-8 text"};
  SMOE_TRY(std::string text, read_prompt(context, limit));
  if (const auto at = first_invalid_utf8(text))
    return Error{Code::kCorrupt, fmt::format("the prompt is no UTF-8 text, from byte {} on", *at)};
  if (!settings.raw) {
    SMOE_TRY(const std::optional<ChatFormat> format, ChatFormat::load(settings.model, tokenizer));
    if (format) return chat_prompt(settings, *format, std::move(text));
    log::info("{}: has no chat template; the prompt is continued as it is", settings.model);
  }
  if (settings.system)
    return Error{Code::kUsage,
                 "--system needs the model's chat template, which " +
                     std::string(settings.raw ? "--raw leaves out" : "this model does not have")};
  Prompt prompt;
  SMOE_TRY(prompt.tokens, tokenizer.encode(text));
  SMOE_TRY(const EndTokens ends, end_tokens_of(settings.model, tokenizer));
  ends.complete(prompt.tokens);
  return prompt;
}

Result<Generation> write_text(Context& context, Engine& engine, const Tokenizer& tokenizer,
                              const Prompt& prompt, const GenerationOptions& options,
                              AnswerOutput& output, std::unique_ptr<TokenFilter> filter) {
  SMOE_TRY(Session session, Session::open(engine));
  const CancelOnSignal cancel(context.signals, engine);
  PromptProgress progress(context.terminal);
  if (prompt.raw && !context.settings.json && context.terminal.stdout_is_terminal())
    output.add(tokenizer.decode(prompt.tokens, true));
  return generate(
      session, tokenizer, prompt.tokens, options,
      [&](size_t done, size_t total) { progress.update(done, total); },
      [&](std::string_view text) {
        progress.clear();
        output.add(text);
      },
      std::move(filter));
}

void say_how_it_ended(const Context& context, const Engine& engine, const Generation& generation) {
  if (generation.finish == Finish::kContextFull)
    context.terminal.print_warning(fmt::format(
        "the context of {} tokens is full, the text ends here; --ctx makes it longer (this "
        "model was made for {})",
        engine.context(), engine.spec().context));
}

// For smoe plan, where it has predicted this run. A run that wrote little says nothing.
void remember_speed(const Settings& settings, const OpenModel& model,
                    const Generation& generation) {
  constexpr size_t kFewTokens = 16;
  if (generation.tokens.size() < kFewTokens) return;
  const Engine& engine = *model.engine;
  const ForecastKey key{engine.fingerprint(), engine.plan().ring_slots(), model.pool->threads()};
  ForecastLog log(settings.state_folder);
  if (log.find(key) == nullptr) return;
  const StreamStats stream = engine.stream_stats();
  const auto decoded = static_cast<double>(generation.tokens.size() - 1);
  log.measure(key, {generation.prompt_tokens, generation.tokens.size(),
                    decoded / (static_cast<double>(generation.decode_ns) * 1e-9),
                    static_cast<double>(generation.first_token_ns) * 1e-9,
                    static_cast<double>(stream.hits) /
                        static_cast<double>(std::max<uint64_t>(1, stream.demands))});
  if (Status saved = log.save(); !saved)
    log::debug("the speed is not remembered: {}", saved.error().message);
}

}  // namespace

Outcome run_command(Context& context) {
  const Settings& settings = context.settings;
  SMOE_TRY(const OpenModel model, open_model(context, {}));
  Engine& engine = *model.engine;
  SMOE_TRY(const Tokenizer tokenizer, load_tokenizer(settings.model));
  auto prompt = make_prompt(context, tokenizer, context_limit(tokenizer, engine.context()));
  if (!prompt) return std::move(prompt).error();
  SMOE_TRY(auto stops, stop_tokens(settings.model, engine.spec().eos, tokenizer));
  SMOE_TRY(const GenerationOptions options, generation_options(settings, std::move(stops)));

  SMOE_TRY(auto filter,
           answer_grammar(settings, tokenizer, prompt->thought_begun, options.stop_tokens));

  AnswerOutput output(context, engine, prompt->splitter);
  auto generation =
      write_text(context, engine, tokenizer, *prompt, options, output, std::move(filter));
  SMOE_DO(output.end());
  if (!generation) return std::move(generation).error();
  remember_speed(settings, model, *generation);
  if (settings.json)
    SMOE_DO(context.terminal.print(run_json(engine, *generation, output, options.sampler.seed)));
  say_how_it_ended(context, engine, *generation);
  if (settings.stats) context.terminal.print_note("\n" + run_table(engine, *generation));
  if (generation->finish == Finish::kCancelled) return Error{Code::kCancelled, "stopped"};
  return ExitStatus::kDone;
}

}  // namespace smoe::cli
