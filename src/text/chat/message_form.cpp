#include "text/chat/message_form.h"

#include <array>
#include <string>
#include <string_view>

namespace smoe {
namespace {

// Words that no template writes by itself.
constexpr std::string_view kText = "zq7text";
constexpr std::string_view kCall = "zq7call";

// One question and, for `calls`, an assistant that calls a function without saying anything.
std::string conversation(bool calls) {
  JsonWriter json;
  json.begin_object().member("add_generation_prompt", false).key("messages").begin_array();
  json.begin_object().member("role", "user").member("content", kText).end_object();
  if (calls) {
    json.begin_object().member("role", "assistant").key("content").null();
    json.key("tool_calls").begin_array().begin_object();
    json.member("id", "call00001").member("type", "function").key("function").begin_object();
    json.member("name", kCall).key("arguments").begin_object().member("x", 1).end_object();
    json.end_object().end_object().end_array().end_object();
  }
  return json.end_array().end_object().take();
}

bool shows(const ChatTemplate& source, const TemplateVariables& constants, const Json& request,
           const MessageForm& form, std::string_view word) {
  const auto variables = normalized_messages(request, form);
  if (!variables) return false;
  TemplateVariables values = constants;
  for (const auto& [name, value] : variables->members()) values.set(name, value, Origin::kVariable);
  RenderOptions options;
  options.now.tm_mday = 1;
  const auto rendered = source.render(values, options);
  return rendered && rendered->text.find(word) != std::string::npos;
}

}  // namespace

MessageForm find_message_form(const ChatTemplate& source, const TemplateVariables& constants) {
  const auto question = Json::parse(conversation(false));
  const auto call = Json::parse(conversation(true));
  if (!question || !call) return {};
  MessageForm form;
  const MessageForm parts{.content_parts = true};
  form.content_parts = !shows(source, constants, *question, form, kText) &&
                       shows(source, constants, *question, parts, kText);
  constexpr std::array<std::array<bool, 2>, 4> kNullAndText{
      {{false, false}, {false, true}, {true, false}, {true, true}}};
  for (const auto& [null_content, text_arguments] : kNullAndText) {
    const MessageForm tried{form.content_parts, null_content, text_arguments};
    if (shows(source, constants, *call, tried, kCall)) return tried;
  }
  return form;
}

}  // namespace smoe
