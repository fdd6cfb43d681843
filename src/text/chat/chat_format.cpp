#include "text/chat/chat_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "text/chat/message_form.h"
#include "text/template/chat_template.h"

namespace smoe {
namespace {

// Templates read their messages as the JSON of a request has them.
std::string request_json(std::span<const Message> messages, std::optional<bool> think) {
  JsonWriter json;
  json.begin_object().key("messages").begin_array();
  for (const Message& message : messages) {
    json.begin_object().member("role", std::string_view(message.role));
    json.member("content", std::string_view(message.content));
    if (!message.reasoning.empty())
      json.member("reasoning_content", std::string_view(message.reasoning));
    json.end_object();
  }
  json.end_array().member("add_generation_prompt", true);
  if (think) json.member("enable_thinking", *think);
  json.end_object();
  return json.take();
}

Status check_text(std::span<const Message> messages) {
  // Counted as the user counts: a system text is none of their messages.
  const auto system_texts = static_cast<size_t>(
      std::count_if(messages.begin(), messages.end(),
                    [](const Message& message) { return message.role == "system"; }));
  for (size_t i = 0; i < messages.size(); ++i)
    if (!is_utf8(messages[i].content))
      return Error{Code::kCorrupt,
                   messages[i].role == "system"
                       ? std::string("the system text is no UTF-8 text")
                       : fmt::format("message {} of the conversation is no UTF-8 text",
                                     i + 1 - system_texts)};
  return {};
}

bool has_tools(const Json& variables) {
  const Json* tools = variables.find("tools");
  return tools != nullptr && tools->is_array() && !tools->items().empty();
}

}  // namespace

ChatFormat::ChatFormat(ChatConfig config, const Tokenizer& tokenizer)
    : config_(std::move(config)), tokenizer_(&tokenizer) {
  for (const auto& named : config_.templates)
    forms_.push_back(find_message_form(named.second, config_.special_tokens));
}

Result<std::optional<ChatFormat>> ChatFormat::load(const std::filesystem::path& model,
                                                   const Tokenizer& tokenizer) {
  SMOE_TRY(ChatConfig config, read_chat_config(model));
  if (config.templates.empty()) return std::optional<ChatFormat>();
  return std::optional<ChatFormat>(ChatFormat(std::move(config), tokenizer));
}

Result<ChatPrompt> ChatFormat::prompt(std::span<const Message> messages,
                                      const ChatOptions& options) const {
  SMOE_DO(check_text(messages));
  SMOE_TRY(const Json variables, Json::parse(request_json(messages, options.think)));
  return render(variables, options.now);
}

Result<ChatPrompt> ChatFormat::render(const Json& variables, const std::tm& now) const {
  if (!variables.is_object())
    return Error{Code::kCorrupt, "the variables of a template are a JSON object"};
  const ChatTemplate* chosen = config_.find(has_tools(variables));
  if (chosen == nullptr)
    return Error{Code::kUsage, "the model has no chat template for a conversation of this kind"};
  const auto same = std::find_if(config_.templates.begin(), config_.templates.end(),
                                 [&](const auto& each) { return &each.second == chosen; });
  const auto index = static_cast<size_t>(same - config_.templates.begin());
  SMOE_TRY(const Json shaped, normalized_messages(variables, forms_[index]));
  TemplateVariables values = config_.special_tokens;
  for (const auto& [name, value] : shaped.members()) values.set(name, value, Origin::kVariable);
  RenderOptions options;
  options.now = now;
  auto result = chosen->render(values, options);
  // Not how the program was called, but what the template and the messages are.
  if (!result) return Error{Code::kUnsupported, result.error().message};
  const RenderedPrompt& rendered = *result;

  std::vector<Tokenizer::Span> spans;
  for (const RenderedPrompt::Span& span : rendered.spans)
    spans.push_back({std::string_view(rendered.text).substr(span.begin, span.end - span.begin),
                     span.origin == Origin::kTemplate});
  SMOE_TRY(Tokenizer::SpanTokens encoded, tokenizer_->encode_spans(spans));
  ChatPrompt prompt;
  prompt.tokens = std::move(encoded.tokens);
  for (const uint32_t span : encoded.spans) prompt.from_template.push_back(spans[span].trusted);
  prompt.text = rendered.text;
  return prompt;
}

}  // namespace smoe
