// smoe tokenize: text to token ids, and back.
#include <string>
#include <vector>

#include "base/json.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/token_list.h"
#include "text/tokenizer.h"

namespace smoe::cli {
namespace {

Result<std::string> encode(const Tokenizer& tokenizer, const Input& input, bool add_special) {
  Tokenizer::Encode options;
  options.add_special = add_special;
  auto ids = tokenizer.encode(input.text, options);
  if (!ids) return std::move(ids).error().in(input.name);
  return token_list_json(*ids) + "\n";
}

Result<std::string> decode(const Tokenizer& tokenizer, const Input& input, bool skip_special,
                           bool as_json) {
  const auto ids = parse_token_list(input.text);
  if (!ids) return Error(ids.error()).in(input.name);
  std::string text = tokenizer.decode(*ids, skip_special);
  if (!as_json) return text;
  JsonWriter json;
  json.begin_object().member("text", text).end_object();
  return json.take() + "\n";
}

}  // namespace

Outcome tokenize_command(Context& context) {
  const Settings& settings = context.settings;
  const Signals::AtOnce at_once(context.signals);
  SMOE_TRY(const Tokenizer tokenizer, Tokenizer::load(settings.model));
  SMOE_TRY(const Input input, read_input(settings.input_file, context.signals));
  SMOE_TRY(const std::string answer,
           settings.decode
               ? decode(tokenizer, input, !settings.special.value_or(true), settings.json)
               : encode(tokenizer, input, settings.special.value_or(false)));
  SMOE_DO(context.terminal.print(answer));
  // The shell's prompt should not stick to the text.
  if (settings.decode && context.terminal.stdout_is_terminal() && !answer.ends_with('\n'))
    SMOE_DO(context.terminal.print("\n"));
  return ExitStatus::kDone;
}

}  // namespace smoe::cli
