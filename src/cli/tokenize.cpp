// smoe tokenize: text to token ids, and back.
#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/table.h"
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

// A piece as people can read it: what cannot be seen is written as an escape.
std::string visible(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      text += "\\n";
    } else if (c == '\t') {
      text += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      text += fmt::format("\\x{:02x}", byte);
    } else {
      text += c;
    }
  }
  // Part of a character is no text.
  if (is_utf8(text)) return fmt::format("\"{}\"", text);
  text.clear();
  for (const char c : bytes) text += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  return fmt::format("\"{}\"", text);
}

std::string hex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes)
    text += fmt::format("{}{:02x}", text.empty() ? "" : " ", static_cast<unsigned char>(c));
  return text;
}

Result<std::string> explain(const Tokenizer& tokenizer, const Input& input, bool add_special,
                            bool as_json) {
  Tokenizer::Encode options;
  options.add_special = add_special;
  auto pieces = tokenizer.explain(input.text, options);
  if (!pieces) return std::move(pieces).error().in(input.name);
  if (!as_json) {
    std::vector<std::vector<std::string>> rows;
    for (const auto& piece : *pieces)
      rows.push_back({std::to_string(index_of(piece.id)), visible(piece.text), hex(piece.text),
                      tokenizer.is_special(piece.id) ? "special" : ""});
    return render_table({{"id", true}, {"text"}, {"bytes"}, {""}}, rows);
  }
  JsonWriter json;
  json.begin_object().key("pieces").begin_array();
  for (const auto& piece : *pieces) {
    json.begin_object().member("id", uint64_t{index_of(piece.id)}).member("text", piece.text);
    json.key("bytes").begin_array();
    for (const char c : piece.text) json.value(uint32_t{static_cast<unsigned char>(c)});
    json.end_array().member("special", tokenizer.is_special(piece.id)).end_object();
  }
  json.end_array().end_object();
  return json.take() + "\n";
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

Result<std::string> answer_of(const Settings& settings, const Tokenizer& tokenizer,
                              const Input& input) {
  if (settings.decode)
    return decode(tokenizer, input, !settings.special.value_or(true), settings.json);
  const bool add_special = settings.special.value_or(false);
  if (settings.explain) return explain(tokenizer, input, add_special, settings.json);
  return encode(tokenizer, input, add_special);
}

}  // namespace

Outcome tokenize_command(Context& context) {
  const Settings& settings = context.settings;
  const Signals::AtOnce at_once(context.signals);
  SMOE_TRY(const Tokenizer tokenizer, Tokenizer::load(settings.model));
  SMOE_TRY(const Input input, read_input(settings.input_file, context.signals));
  if (settings.decode && settings.explain)
    return Error{Code::kUsage, "--explain is about text; --decode reads ids"};
  SMOE_TRY(const std::string answer, answer_of(settings, tokenizer, input));
  SMOE_DO(context.terminal.print(answer));
  // The shell's prompt should not stick to the text.
  if (settings.decode && context.terminal.stdout_is_terminal() && !answer.ends_with('\n'))
    SMOE_DO(context.terminal.print("\n"));
  return ExitStatus::kDone;
}

}  // namespace smoe::cli
