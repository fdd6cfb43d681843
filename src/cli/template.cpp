// smoe template: the prompt that a chat template makes, to look at.
#include <fmt/format.h>

#include <optional>
#include <string>

#include "base/json.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/open_model.h"
#include "text/chat/chat_format.h"

namespace smoe::cli {
namespace {

std::string prompt_json(const ChatPrompt& prompt) {
  JsonWriter json;
  json.begin_object().member("text", std::string_view(prompt.text)).key("ids").begin_array();
  for (const TokenId id : prompt.tokens) json.value(uint64_t{index_of(id)});
  json.end_array().key("from_template").begin_array();
  for (const bool wrote : prompt.from_template) json.value(wrote);
  json.end_array().end_object();
  return json.take() + "\n";
}

}  // namespace

Outcome template_command(Context& context) {
  const Settings& settings = context.settings;
  const Signals::AtOnce at_once(context.signals);
  SMOE_TRY(const Tokenizer tokenizer, Tokenizer::load(settings.model));
  SMOE_TRY(const std::optional<ChatFormat> format, ChatFormat::load(settings.model, tokenizer));
  if (!format) return Error{Code::kNotFound, settings.model + ": has no chat template"};

  const bool from_stdin = settings.variables == "-";
  SMOE_TRY(const Input input,
           read_input(from_stdin ? std::nullopt : settings.variables, context.signals));
  auto variables = Json::parse(input.text);
  if (!variables) return std::move(variables).error().in(input.name);
  auto prompt = format->render(*variables, local_time());
  if (!prompt) return std::move(prompt).error();
  SMOE_DO(context.terminal.print(settings.json ? prompt_json(*prompt) : prompt->text));
  return ExitStatus::kDone;
}

}  // namespace smoe::cli
