// smoe chat: a conversation, at the terminal or through a pipe.
#include <fmt/format.h>

#include <csignal>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/json.h"
#include "cli/chat_commands.h"
#include "cli/commands.h"
#include "cli/conversation.h"
#include "cli/flag_table.h"
#include "cli/flag_value.h"
#include "cli/generation_defaults.h"
#include "cli/help.h"
#include "cli/line_source.h"
#include "cli/open_model.h"
#include "cli/run_report.h"
#include "text/chat/stop_tokens.h"

namespace smoe::cli {
namespace {

constexpr std::string_view kPrompt = ">>> ";
constexpr std::string_view kMorePrompt = "... ";
constexpr std::string_view kFence = "\"\"\"";

class Chat {
 public:
  Chat(Context& context, Engine& engine, std::vector<TokenId> stops, Conversation conversation,
       std::unique_ptr<LineSource> lines)
      : settings_(context.settings),
        context_{settings_, context.terminal, context.signals},
        engine_(engine),
        stops_(std::move(stops)),
        conversation_(std::move(conversation)),
        lines_(std::move(lines)) {}

  Outcome run();

 private:
  using Event = LineSource::Event;

  // A whole message: a line, or the lines between two fences.
  LineSource::Line read_message();
  bool interrupted();
  Status act(const ChatLine& line);
  Status answer(std::optional<std::string> text);
  Status set(std::string_view words);
  void note(std::string_view text) const { context_.terminal.print_note(text); }
  void show_status(const Conversation::Turn& turn) const;

  Settings settings_;  // what /set changes
  Context context_;
  Engine& engine_;
  std::vector<TokenId> stops_;
  Conversation conversation_;
  std::unique_ptr<LineSource> lines_;
  std::optional<Conversation::Turn> last_turn_;
  uint64_t retries_ = 0;  // of the last message
  bool interrupted_before_ = false;
  bool done_ = false;
};

LineSource::Line Chat::read_message() {
  LineSource::Line line = lines_->read(kPrompt);
  if (line.event != Event::kLine || !line.text.starts_with(kFence)) return line;
  std::string text = line.text.substr(kFence.size());
  while (!text.ends_with(kFence)) {
    line = lines_->read(kMorePrompt);
    if (line.event == Event::kInterrupt || line.event == Event::kTooLong) return line;
    if (line.event == Event::kEnd) return {Event::kLine, std::move(text)};
    if (!text.empty()) text += '\n';
    text += line.text;
    if (text.size() > conversation_.limit().bytes) return {Event::kTooLong, ""};
  }
  text.resize(text.size() - kFence.size());
  while (text.ends_with('\n')) text.pop_back();
  // Fenced text is a message, whatever it begins with.
  return {Event::kLine, text.starts_with('/') ? "/" + text : std::move(text)};
}

// After a Ctrl-C at the prompt; true when the conversation shall end.
bool Chat::interrupted() {
  if (context_.signals.received() == SIGTERM || !lines_->interactive()) return true;
  if (interrupted_before_) return true;
  interrupted_before_ = true;
  context_.signals.forget();
  note("Ctrl-C again, Ctrl-D or /bye ends the conversation\n");
  return false;
}

Outcome Chat::run() {
  while (!done_ && !context_.terminal.broken_pipe()) {
    const LineSource::Line line = read_message();
    if (line.event == Event::kEnd) {
      if (lines_->interactive()) note("\n");
      break;
    }
    if (line.event == Event::kInterrupt) {
      if (interrupted()) return Error{Code::kCancelled, "stopped"};
      continue;
    }
    if (line.event == Event::kTooLong) return conversation_.limit().exceeded("a message");
    interrupted_before_ = false;
    if (line.text.find_first_not_of(" \t\r\n") == std::string::npos) continue;
    lines_->remember(line.text);
    auto parsed = parse_chat_line(line.text);
    const Status status = parsed ? act(*parsed) : Status(std::move(parsed).error());
    if (status) continue;
    // A pipe has nobody who could put it right.
    if (!lines_->interactive() || status.error().code == Code::kCancelled) return status.error();
    context_.terminal.print_error(status.error());
  }
  return ExitStatus::kDone;
}

Status Chat::act(const ChatLine& line) {
  switch (line.action) {
    case ChatAction::kSay:
      return answer(line.text);
    case ChatAction::kRetry:
      return answer(std::nullopt);
    case ChatAction::kHelp:
      note(chat_help(context_.terminal.columns()));
      return {};
    case ChatAction::kClear:
      conversation_.clear();
      note("the conversation is forgotten\n");
      return {};
    case ChatAction::kSet:
      return set(line.text);
    case ChatAction::kSystem:
      conversation_.set_system(line.text);
      note(line.text.empty() ? "no system text\n" : "the system text is set\n");
      return {};
    case ChatAction::kSave:
      SMOE_DO(conversation_.save(line.text));
      note(fmt::format("{}: {} messages\n", line.text, conversation_.messages().size()));
      return {};
    case ChatAction::kLoad:
      SMOE_DO(conversation_.load(line.text));
      note(fmt::format("{}: {} messages\n", line.text, conversation_.messages().size()));
      return {};
    case ChatAction::kStats:
      if (!last_turn_) return Error{Code::kUsage, "nothing was answered yet"};
      note(run_table(engine_, last_turn_->generation));
      return {};
    case ChatAction::kBye:
      done_ = true;
      return {};
  }
  return {};
}

// Says `text`, or answers the last message again without one.
Status Chat::answer(std::optional<std::string> text) {
  SMOE_TRY(GenerationOptions options, generation_options(settings_, stops_));
  // The same seed would give the same answer.
  retries_ = text ? 0 : retries_ + 1;
  options.sampler.seed += retries_;
  auto turn = text ? conversation_.say(*std::move(text), options, settings_.think, context_)
                   : conversation_.retry(options, settings_.think, context_);
  if (!turn) return std::move(turn).error();
  last_turn_ = *std::move(turn);
  const Finish finish = last_turn_->generation.finish;
  if (finish == Finish::kCancelled) {
    if (!lines_->interactive() || context_.signals.received() == SIGTERM)
      return Error{Code::kCancelled, "stopped"};
    context_.signals.forget();
  }
  if (finish == Finish::kContextFull)
    context_.terminal.print_warning(fmt::format(
        "the context of {} tokens is full, the answer ends here; /clear begins anew, --ctx makes "
        "it longer (this model was made for {})",
        engine_.context(), engine_.spec().context));
  show_status(*last_turn_);
  return {};
}

void Chat::show_status(const Conversation::Turn& turn) const {
  const Terminal& terminal = context_.terminal;
  if (!lines_->interactive() || settings_.quiet) return;
  const std::string line = fmt::format(
      "{}, context {} of {}{}", speed_line(turn.generation), turn.context_tokens, engine_.context(),
      turn.generation.finish == Finish::kCancelled ? ", stopped" : "");
  note(terminal.colors() ? fmt::format("\033[2m{}\033[0m\n\n", line) : line + "\n\n");
}

Status Chat::set(std::string_view words) {
  const size_t end = std::min(words.find_first_of(" \t"), words.size());
  const std::string_view name = words.substr(0, end);
  const size_t at = std::min(words.find_first_not_of(" \t", end), words.size());
  SMOE_TRY(const SamplerOptions sampler, sampler_options(settings_));
  const Settings shown = effective_settings(settings_, sampler);
  std::string known;
  for (const Flag& flag : flags()) {
    if (flag.group != Group::kGeneration || (flag.commands & set_of(CommandId::kChat)) == 0)
      continue;
    if (flag.name == name || (!flag.alias.empty() && flag.alias == name))
      return apply(flag, words.substr(at), fmt::format("/set {}", name), settings_);
    append_entry(known, fmt::format("{:<20} {:<10}", flag.name, value_text(flag, shown)), flag.help,
                 {.indent = 34, .columns = context_.terminal.columns()});
  }
  if (!name.empty())
    return Error{Code::kUsage, fmt::format("/set {}: no such option; /set lists them", name)};
  note(known);
  return {};
}

}  // namespace

Outcome chat_command(Context& context) {
  const Settings& settings = context.settings;
  SMOE_TRY(const OpenModel model, open_model(context, {}));
  SMOE_TRY(const Tokenizer tokenizer, load_tokenizer(settings.model));
  SMOE_TRY(const std::optional<ChatFormat> format, ChatFormat::load(settings.model, tokenizer));
  if (!format)
    return Error{Code::kUnsupported,
                 settings.model +
                     ": has no chat template, so it was not made for conversations; "
                     "smoe run continues texts"};
  if (settings.system && !is_utf8(*settings.system))
    return Error{Code::kUsage, "--system is no UTF-8 text"};
  SMOE_TRY(auto stops, stop_tokens(settings.model, model.engine->spec().eos, tokenizer));
  SMOE_TRY(Conversation conversation, Conversation::open(*model.engine, tokenizer, *format));
  conversation.set_system(settings.system.value_or(""));
  SMOE_TRY(std::unique_ptr<LineSource> lines,
           LineSource::open(context, conversation.limit().bytes));
  if (lines->interactive() && !settings.quiet)
    context.terminal.print_note(fmt::format(
        "{}, context of {} tokens. /help lists the commands, Ctrl-D ends.\n",
        std::filesystem::path(settings.model).filename().string(), model.engine->context()));
  return Chat(context, *model.engine, std::move(stops), std::move(conversation), std::move(lines))
      .run();
}

}  // namespace smoe::cli
