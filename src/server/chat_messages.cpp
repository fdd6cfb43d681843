#include "server/chat_messages.h"

#include <fmt/format.h>

#include <array>
#include <optional>

#include "server/fields.h"
#include "server/tool_calls/readers.h"

namespace smoe::server {
namespace {

constexpr std::array<std::string_view, 7> kTextParts{
    "text", "input_text", "output_text", "reasoning_text", "thinking", "summary_text", "refusal"};
constexpr std::array<std::string_view, 5> kRoles{"system", "user", "assistant", "tool", "function"};

ApiError bad_field(std::string param, std::string_view message) {
  return {.message = fmt::format("{} {}", param, message), .param = std::move(param)};
}

std::string string_at(const Json& object, std::string_view name) {
  const Json* value = object.find(name);
  return std::string(value == nullptr ? "" : value->as_string().value_or(""));
}

bool is_text_part(std::string_view type) {
  for (const std::string_view known : kTextParts)
    if (known == type) return true;
  return false;
}

// Arguments come as JSON text or as an object; text that is no object stays text.
void write_arguments(JsonWriter& json, const Json* arguments) {
  if (arguments == nullptr || arguments->is_null()) {
    json.raw("{}");
  } else if (const auto text = arguments->as_string()) {
    const auto object = object_text(*text);
    if (object) {
      json.raw(*object);
    } else {
      json.value(*text);
    }
  } else {
    write_json(json, *arguments);
  }
}

void write_tool_call(JsonWriter& json, std::string_view id, std::string_view name,
                     const Json* arguments) {
  json.begin_object();
  if (!id.empty()) json.member("id", id);
  json.member("type", "function").key("function").begin_object();
  json.member("name", name).key("arguments");
  write_arguments(json, arguments);
  json.end_object().end_object();
}

ApiResult<std::string> openai_message(const Json& message, const std::string& where) {
  if (!message.is_object()) return bad_field(where, "is no object");
  std::string role = string_at(message, "role");
  if (role == "developer") role = "system";  // its later name
  bool known = false;
  for (const std::string_view name : kRoles) known = known || name == role;
  if (!known) return bad_field(where + ".role", "is none of system, user, assistant, tool");
  SMOE_API_TRY(const std::string text, content_text(message.find("content"), where + ".content"));

  JsonWriter json;
  json.begin_object().member("role", std::string_view(role));
  json.member("content", std::string_view(text));
  std::string reasoning = string_at(message, "reasoning_content");
  if (reasoning.empty()) reasoning = string_at(message, "reasoning");
  if (!reasoning.empty()) json.member("reasoning_content", std::string_view(reasoning));
  for (const std::string_view name : {"name", "tool_call_id"})
    if (const std::string value = string_at(message, name); !value.empty())
      json.member(name, std::string_view(value));
  const Json* calls = message.find("tool_calls");
  if (calls != nullptr && !calls->items().empty()) {
    json.key("tool_calls").begin_array();
    for (const Json& call : calls->items()) {
      const Json* function = call.find("function");
      if (function == nullptr || string_at(*function, "name").empty())
        return bad_field(where + ".tool_calls", "has a call without function.name");
      write_tool_call(json, string_at(call, "id"), string_at(*function, "name"),
                      function->find("arguments"));
    }
    json.end_array();
  }
  json.end_object();
  return json.take();
}

// Tools are {"type":"function","function":{…}} to templates; `parameters` has another name in each
// API, and OpenAI's later one leaves the inner object out.
ApiResult<std::string> tools_text(const Json* tools, std::string_view parameters_name) {
  if (tools == nullptr || tools->is_null()) return std::string();
  if (!tools->is_array()) return bad_field("tools", "is no array");
  if (tools->items().empty()) return std::string();
  JsonWriter json;
  json.begin_array();
  for (size_t i = 0; i < tools->items().size(); ++i) {
    const Json& tool = tools->items()[i];
    const Json* nested = tool.find("function");
    const Json& described = nested == nullptr ? tool : *nested;
    const std::string type = string_at(tool, "type");
    const std::string name = string_at(described, "name");
    if (name.empty() || (!type.empty() && type != "function" && type != "custom"))
      return bad_field(fmt::format("tools[{}]", i),
                       "is no function with a name; tools that run on a server are not supported");
    json.begin_object().member("type", "function").key("function").begin_object();
    json.member("name", std::string_view(name));
    json.member("description", std::string_view(string_at(described, "description")));
    json.key("parameters");
    const Json* parameters = described.find(parameters_name);
    if (parameters == nullptr || parameters->is_null()) {
      json.raw(R"({"type":"object","properties":{}})");
    } else {
      write_json(json, *parameters);
    }
    json.end_object().end_object();
  }
  json.end_array();
  return json.take();
}

void write_plain(JsonWriter& json, std::string_view role, std::string_view text) {
  json.begin_object().member("role", role).member("content", text).end_object();
}

// "x-anthropic-billing-header: …; cch=…" differs in every call.
std::string without_volatile_line(std::string_view text) {
  constexpr std::string_view kVolatile = "x-anthropic-billing-header";
  if (!text.starts_with(kVolatile)) return std::string(text);
  const size_t end = text.find('\n');
  return end == std::string_view::npos ? "" : std::string(text.substr(end + 1));
}

ApiResult<std::string> anthropic_system(const Json* system) {
  if (system == nullptr || system->is_null()) return std::string();
  if (const auto text = system->as_string()) return without_volatile_line(*text);
  if (!system->is_array()) return bad_field("system", "is neither a string nor an array");
  std::string text;
  for (size_t i = 0; i < system->items().size(); ++i) {
    const Json& block = system->items()[i];
    if (string_at(block, "type") != "text")
      return bad_field(fmt::format("system[{}].type", i), "is not text");
    const std::string part = without_volatile_line(string_at(block, "text"));
    if (!text.empty() && !part.empty()) text += "\n";
    text += part;
  }
  return text;
}

// What the blocks of one message are, sorted by what templates want to know.
struct Blocks {
  std::string text;
  std::string reasoning;
  JsonWriter calls;
  size_t call_count = 0;
  std::string results;  // whole messages, each with a comma behind it
};

ApiResult<bool> read_block(const Json& block, const std::string& where, Blocks& out) {
  const std::string type = string_at(block, "type");
  if (type == "text") {
    out.text += string_at(block, "text");
  } else if (type == "thinking") {
    out.reasoning += string_at(block, "thinking");
  } else if (type == "redacted_thinking") {
    return true;
  } else if (type == "tool_use") {
    if (out.call_count++ == 0) out.calls.begin_array();
    write_tool_call(out.calls, string_at(block, "id"), string_at(block, "name"),
                    block.find("input"));
  } else if (type == "tool_result") {
    SMOE_API_TRY(const std::string text, content_text(block.find("content"), where + ".content"));
    JsonWriter json;
    json.begin_object().member("role", "tool");
    json.member("tool_call_id", std::string_view(string_at(block, "tool_use_id")));
    json.member("content", std::string_view(text)).end_object();
    out.results += json.take() + ",";
  } else {
    return ApiError{.message = fmt::format("{}.type '{}' is not supported: this server reads text",
                                           where, type),
                    .param = where + ".type",
                    .code = "unsupported_content"};
  }
  return true;
}

ApiResult<std::string> anthropic_message(const Json& message, const std::string& where) {
  const std::string role = string_at(message, "role");
  if (role != "user" && role != "assistant" && role != "system")
    return bad_field(where + ".role", "is neither user nor assistant");
  const Json* content = message.find("content");
  Blocks blocks;
  if (content != nullptr && content->is_array()) {
    for (size_t i = 0; i < content->items().size(); ++i) {
      const std::string block = fmt::format("{}.content[{}]", where, i);
      if (auto read = read_block(content->items()[i], block, blocks); !read)
        return std::move(read).error();
    }
  } else {
    SMOE_API_TRY(blocks.text, content_text(content, where + ".content"));
  }
  // Results come first: templates want them right behind the calls.
  std::string messages = blocks.results;
  if (!messages.empty()) messages.pop_back();
  if (!blocks.results.empty() && blocks.text.empty()) return messages;
  if (!messages.empty()) messages += ",";
  JsonWriter json;
  json.begin_object().member("role", std::string_view(role));
  json.member("content", std::string_view(blocks.text));
  if (!blocks.reasoning.empty())
    json.member("reasoning_content", std::string_view(blocks.reasoning));
  if (blocks.call_count > 0) json.key("tool_calls").raw(blocks.calls.end_array().text());
  json.end_object();
  return messages + json.take();
}

// One item of `input`: a message, a call that the model made, its result, or its thinking.
ApiResult<std::string> response_item(const Json& item, const std::string& where,
                                     std::string& reasoning) {
  const std::string type = string_at(item, "type");
  JsonWriter json;
  if (type == "reasoning") {
    for (const std::string_view name : {"content", "summary"}) {
      SMOE_API_TRY(const std::string text, content_text(item.find(name), where));
      if (reasoning.empty()) reasoning = text;
    }
    return std::string();
  }
  if (type == "function_call") {
    json.begin_object().member("role", "assistant").member("content", "");
    if (!reasoning.empty()) json.member("reasoning_content", std::string_view(reasoning));
    reasoning.clear();
    json.key("tool_calls").begin_array();
    write_tool_call(json, string_at(item, "call_id"), string_at(item, "name"),
                    item.find("arguments"));
    json.end_array().end_object();
    return json.take();
  }
  if (type == "function_call_output") {
    SMOE_API_TRY(const std::string text, content_text(item.find("output"), where + ".output"));
    json.begin_object().member("role", "tool");
    json.member("tool_call_id", std::string_view(string_at(item, "call_id")));
    json.member("content", std::string_view(text)).end_object();
    return json.take();
  }
  if (!type.empty() && type != "message")
    return ApiError{.message = fmt::format("{}.type '{}' is not supported", where, type),
                    .param = where + ".type",
                    .code = "unsupported_content"};
  std::string role = string_at(item, "role");
  if (role == "developer") role = "system";
  if (role != "system" && role != "user" && role != "assistant")
    return bad_field(where + ".role", "is none of system, developer, user, assistant");
  SMOE_API_TRY(const std::string text, content_text(item.find("content"), where + ".content"));
  json.begin_object().member("role", std::string_view(role));
  json.member("content", std::string_view(text));
  if (role == "assistant" && !reasoning.empty())
    json.member("reasoning_content", std::string_view(reasoning));
  if (role == "assistant") reasoning.clear();
  json.end_object();
  return json.take();
}

void add_item(std::string& list, const std::string& item) {
  if (item.empty()) return;
  if (!list.empty()) list += ",";
  list += item;
}

}  // namespace

ApiResult<std::string> content_text(const Json* content, const std::string& where) {
  if (content == nullptr || content->is_null()) return std::string();
  if (const auto text = content->as_string()) return std::string(*text);
  if (!content->is_array()) return bad_field(where, "is neither a string nor an array of parts");
  std::string all;
  for (size_t i = 0; i < content->items().size(); ++i) {
    const Json& part = content->items()[i];
    const std::string type = string_at(part, "type");
    if (const auto text = part.as_string()) {
      all += *text;
    } else if (is_text_part(type)) {
      all += string_at(part, type == "thinking" || type == "refusal" ? type : "text");
    } else {
      return ApiError{.message = fmt::format("{}[{}].type '{}' is not supported: this server reads "
                                             "text",
                                             where, i, type),
                      .param = fmt::format("{}[{}].type", where, i),
                      .code = "unsupported_content"};
    }
  }
  return all;
}

ApiResult<Conversation> openai_conversation(const Json& body) {
  const Json* messages = body.find("messages");
  if (messages == nullptr || !messages->is_array() || messages->items().empty())
    return bad_field("messages", "is no array of at least one message");
  std::string list;
  for (size_t i = 0; i < messages->items().size(); ++i) {
    SMOE_API_TRY(const std::string message,
                 openai_message(messages->items()[i], fmt::format("messages[{}]", i)));
    add_item(list, message);
  }
  Conversation conversation{"[" + list + "]"};
  SMOE_API_TRY(conversation.tools, tools_text(body.find("tools"), "parameters"));
  return conversation;
}

ApiResult<Conversation> anthropic_conversation(const Json& body) {
  const Json* messages = body.find("messages");
  if (messages == nullptr || !messages->is_array() || messages->items().empty())
    return bad_field("messages", "is no array of at least one message");
  SMOE_API_TRY(const std::string system, anthropic_system(body.find("system")));
  std::string list;
  if (!system.empty()) {
    JsonWriter json;
    write_plain(json, "system", system);
    list = json.take();
  }
  // A last message of the assistant is the beginning of the answer.
  std::string prefill;
  size_t count = messages->items().size();
  const Json& last = messages->items().back();
  if (string_at(last, "role") == "assistant") {
    auto text = content_text(last.find("content"), "");
    if (text) {
      prefill = *std::move(text);
      --count;
    }
  }
  for (size_t i = 0; i < count; ++i) {
    SMOE_API_TRY(const std::string message,
                 anthropic_message(messages->items()[i], fmt::format("messages[{}]", i)));
    add_item(list, message);
  }
  Conversation conversation{"[" + list + "]"};
  conversation.prefill = std::move(prefill);
  SMOE_API_TRY(conversation.tools, tools_text(body.find("tools"), "input_schema"));
  return conversation;
}

ApiResult<Conversation> responses_conversation(const Json& body) {
  std::string list;
  if (const std::string instructions = string_at(body, "instructions"); !instructions.empty()) {
    JsonWriter json;
    write_plain(json, "system", instructions);
    list = json.take();
  }
  const Json* input = body.find("input");
  if (input != nullptr && input->as_string()) {
    JsonWriter json;
    write_plain(json, "user", *input->as_string());
    add_item(list, json.take());
  } else if (input == nullptr || !input->is_array() || input->items().empty()) {
    return bad_field("input", "is neither a string nor an array of at least one item");
  }
  std::string reasoning;
  for (size_t i = 0; i < input->items().size(); ++i) {
    SMOE_API_TRY(const std::string item,
                 response_item(input->items()[i], fmt::format("input[{}]", i), reasoning));
    add_item(list, item);
  }
  Conversation conversation{"[" + list + "]"};
  SMOE_API_TRY(conversation.tools, tools_text(body.find("tools"), "parameters"));
  return conversation;
}

}  // namespace smoe::server
