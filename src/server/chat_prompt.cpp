#include "server/chat_prompt.h"

#include <ctime>

#include "text/chat/reasoning.h"

namespace smoe::server {
namespace {

std::tm now_here() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  return local;
}

std::string template_variables(const Conversation& conversation, const ChatWishes& wishes) {
  JsonWriter json;
  json.begin_object().key("messages").raw(conversation.messages);
  if (!conversation.tools.empty()) json.key("tools").raw(conversation.tools);
  json.member("add_generation_prompt", true);
  if (wishes.think) json.member("enable_thinking", *wishes.think);
  if (!wishes.reasoning_effort.empty())
    json.member("reasoning_effort", std::string_view(wishes.reasoning_effort));
  if (wishes.variables != nullptr) {
    for (const auto& [name, value] : wishes.variables->members()) {
      if (name == "messages" || name == "tools" || name == "add_generation_prompt") continue;
      json.key(name);
      write_json(json, value);
    }
  }
  json.end_object();
  return json.take();
}

}  // namespace

ChatWishes read_chat_wishes(Fields& fields) {
  ChatWishes wishes;
  wishes.variables = fields.object("chat_template_kwargs");
  const std::string effort = fields.text("reasoning_effort").value_or("");
  if (effort == "none") {
    wishes.think = false;
  } else {
    wishes.reasoning_effort = effort;
  }
  return wishes;
}

ApiResult<RenderedChat> render_chat(const ServedModel& model, const Conversation& conversation,
                                    const ChatWishes& wishes) {
  if (model.chat() == nullptr)
    return ApiError{.message = "the model '" + model.id() +
                               "' has no chat template: /v1/completions continues texts",
                    .param = "model"};
  const auto variables = Json::parse(template_variables(conversation, wishes),
                                     {.max_depth = 256, .unique_keys = false});
  if (!variables) return ApiError{.message = variables.error().message, .param = "messages"};
  auto prompt = model.chat()->render(*variables, now_here());
  if (!prompt) {
    ApiError error = api_error_of(prompt.error());
    if (error.status == 500) error.status = 400;  // text that is no UTF-8
    error.param = "messages";
    return error;
  }
  RenderedChat chat{std::move(prompt->text), std::move(prompt->tokens), false};
  chat.starts_thinking = ends_in_thought(chat.text, model.reasoning_marks());
  if (conversation.prefill.empty()) return chat;
  // The answer has begun already: the model goes on from there.
  auto begun = model.tokenizer().encode(conversation.prefill, {.parse_special = false});
  if (!begun) return api_error_of(begun.error());
  chat.text += conversation.prefill;
  chat.tokens.insert(chat.tokens.end(), begun->begin(), begun->end());
  chat.starts_thinking = false;
  return chat;
}

}  // namespace smoe::server
