#include "cli/conversation.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/file.h"
#include "base/json.h"
#include "base/units.h"
#include "cli/open_model.h"
#include "cli/prompt_progress.h"
#include "text/chat/reasoning.h"

namespace smoe::cli {
namespace {

constexpr uint64_t kMaxSavedBytes = 256 * kMiB;

Error bad_message(const std::filesystem::path& file, size_t index, std::string_view what) {
  return {Code::kCorrupt, fmt::format("{}: message {} {}", file.string(), index + 1, what)};
}

std::string text_of(const Json& message, std::string_view key) {
  const Json* value = message.find(key);
  return std::string(value == nullptr ? "" : value->as_string().value_or(""));
}

}  // namespace

Result<Conversation> Conversation::open(Engine& engine, const Tokenizer& tokenizer,
                                        const ChatFormat& format) {
  SMOE_TRY(Session session, Session::open(engine));
  return Conversation(engine, tokenizer, format, std::move(session));
}

std::vector<Message> Conversation::all_messages() const {
  std::vector<Message> all;
  if (!system_.empty()) all.push_back({"system", system_, ""});
  all.insert(all.end(), messages_.begin(), messages_.end());
  return all;
}

Error Conversation::full(size_t tokens) const {
  return {Code::kContextFull,
          fmt::format("the conversation has {} tokens and the context holds {}: your message was "
                      "not sent. /clear begins anew, /save keeps what was said; --ctx makes the "
                      "context longer (this model was made for {})",
                      tokens, engine_->context(), engine_->spec().context)};
}

Result<Conversation::Turn> Conversation::answer(const GenerationOptions& options,
                                                std::optional<bool> think, Context& context) {
  const std::vector<Message> all = all_messages();
  uint64_t bytes = 0;
  for (const Message& message : all) bytes += message.content.size() + message.reasoning.size();
  SMOE_DO(limit_.check("the conversation", bytes));
  SMOE_TRY(const ChatPrompt prompt, format_->prompt(all, {think, local_time()}));
  if (prompt.tokens.size() >= engine_->context()) return full(prompt.tokens.size());

  // The last token is computed again when all are there: its logits are needed.
  const auto held = session_.tokens();
  const auto differ =
      std::mismatch(held.begin(), held.end(), prompt.tokens.begin(), prompt.tokens.end());
  Turn turn;
  turn.cached_tokens =
      std::min(static_cast<size_t>(differ.first - held.begin()), prompt.tokens.size() - 1);
  session_.rewind(turn.cached_tokens);

  const ReasoningMarks marks;
  AnswerOutput answer(context, *engine_,
                      ReasoningSplitter(marks, ends_in_thought(prompt.text, marks)));
  PromptProgress progress(context.terminal);
  const CancelOnSignal cancel(context.signals, *engine_);
  auto generation = generate(
      session_, *tokenizer_, std::span(prompt.tokens).subspan(turn.cached_tokens), options,
      [&](size_t done, size_t total) { progress.update(done, total); },
      [&](std::string_view text) {
        progress.clear();
        answer.add(text);
      });
  progress.clear();
  SMOE_DO(answer.end());
  if (!generation) return std::move(generation).error();
  turn.generation = *std::move(generation);
  turn.context_tokens = session_.tokens().size();
  messages_.push_back({"assistant", answer.text(), answer.thinking()});
  return turn;
}

Result<Conversation::Turn> Conversation::say(std::string text, const GenerationOptions& options,
                                             std::optional<bool> think, Context& context) {
  messages_.push_back({"user", std::move(text), ""});
  auto turn = answer(options, think, context);
  if (!turn) messages_.pop_back();
  return turn;
}

Result<Conversation::Turn> Conversation::retry(const GenerationOptions& options,
                                               std::optional<bool> think, Context& context) {
  if (messages_.empty() || messages_.back().role != "assistant")
    return Error{Code::kUsage, "nothing was answered yet that could be answered again"};
  Message last = std::move(messages_.back());
  messages_.pop_back();
  auto turn = answer(options, think, context);
  if (!turn) messages_.push_back(std::move(last));
  return turn;
}

Status Conversation::save(const std::filesystem::path& file) const {
  JsonWriter json(2);
  json.begin_object().key("messages").begin_array();
  for (const Message& message : all_messages()) {
    json.begin_object();
    json.member("role", std::string_view(message.role));
    json.member("content", std::string_view(message.content));
    if (!message.reasoning.empty())
      json.member("reasoning_content", std::string_view(message.reasoning));
    json.end_object();
  }
  json.end_array().end_object();
  return replace_file(file, json.take() + "\n");
}

Status Conversation::load(const std::filesystem::path& file) {
  SMOE_TRY(const std::string text, read_text_file(file, kMaxSavedBytes));
  auto json = Json::parse(text);
  if (!json) return std::move(json).error().in(file.string());
  const Json* list = json->find("messages");
  if (list == nullptr || !list->is_array())
    return Error{Code::kCorrupt, file.string() + ": no conversation: it has no list of messages"};
  std::string system;
  std::vector<Message> messages;
  for (const Json& item : list->items()) {
    const Message message{text_of(item, "role"), text_of(item, "content"),
                          text_of(item, "reasoning_content")};
    const size_t index = messages.size();
    if (message.role == "system" && messages.empty() && system.empty()) {
      system = message.content;
    } else if (message.role == "user" || message.role == "assistant") {
      messages.push_back(message);
    } else {
      return bad_message(file, index, "has a role other than user and assistant");
    }
  }
  system_ = std::move(system);
  messages_ = std::move(messages);
  return {};
}

}  // namespace smoe::cli
