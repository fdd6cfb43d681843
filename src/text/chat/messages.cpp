#include "text/chat/messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

namespace smoe {
namespace {

constexpr std::array<std::string_view, 3> kTextParts{"text", "input_text", "output_text"};
// What is nested within a message goes deeper than a request by what stands around it.
constexpr Json::Limits kRewritten{.max_depth = 128, .unique_keys = false};

std::string_view kind_of(const Json& value) {
  switch (value.kind()) {
    case Json::Kind::kNull:
      return "null";
    case Json::Kind::kBool:
      return "a boolean";
    case Json::Kind::kNumber:
      return "a number";
    case Json::Kind::kString:
      return "a string";
    case Json::Kind::kArray:
      return "an array";
    case Json::Kind::kObject:
      return "an object";
  }
  return "";
}

Error unwanted(std::string_view where, const Json& found, std::string_view wanted) {
  return {Code::kCorrupt, fmt::format("{} is {}, not {}", where, kind_of(found), wanted)};
}

// With the spaces that Python's json.dumps puts: models have seen arguments written so.
void append_json(std::string& out, const Json& value) {
  switch (value.kind()) {
    case Json::Kind::kNull:
      out += "null";
      return;
    case Json::Kind::kBool:
      out += value.as_bool() == true ? "true" : "false";
      return;
    case Json::Kind::kNumber:
      out += value.number_text();
      return;
    case Json::Kind::kString:
      out += json_quote(value.as_string().value_or(""));
      return;
    case Json::Kind::kArray:
      out += '[';
      for (const Json& item : value.items()) {
        if (&item != value.items().data()) out += ", ";
        append_json(out, item);
      }
      out += ']';
      return;
    case Json::Kind::kObject:
      out += '{';
      for (const Json::Member& member : value.members()) {
        if (&member != value.members().data()) out += ", ";
        out += json_quote(member.first) + ": ";
        append_json(out, member.second);
      }
      out += '}';
      return;
  }
}

std::string json_text(const Json& value) {
  std::string text;
  append_json(text, value);
  return text;
}

Result<std::string> part_text(const Json& part, const std::string& where) {
  if (const auto text = part.as_string()) return std::string(*text);
  if (!part.is_object()) return unwanted(where, part, "a part of a message");
  const Json* type = part.find("type");
  if (type == nullptr || !type->is_string())
    return Error{Code::kCorrupt, where + " has no \"type\""};
  const std::string_view name = *type->as_string();
  if (std::find(kTextParts.begin(), kTextParts.end(), name) == kTextParts.end())
    return Error{Code::kUnsupported,
                 fmt::format("{} has the type {}: models here read text, in parts of the type "
                             "\"text\"",
                             where, json_quote(name))};
  const Json* text = part.find("text");
  if (text == nullptr || !text->is_string())
    return Error{Code::kCorrupt, where + " has no \"text\" that is a string"};
  return std::string(*text->as_string());
}

// The object that arguments are, as JSON text; nothing when they are other text.
std::optional<std::string> arguments_object(const Json* arguments) {
  if (arguments == nullptr || arguments->is_null()) return "{}";
  if (!arguments->is_string()) return json_text(*arguments);
  const std::string_view text = *arguments->as_string();
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) return "{}";
  const auto parsed = Json::parse(text, {.max_depth = 64, .unique_keys = false});
  if (!parsed || !parsed->is_object()) return std::nullopt;
  return json_text(*parsed);
}

// Text that came as text is handed on letter by letter where text is wanted.
std::string arguments_text(const Json* arguments, const std::string& object) {
  const auto given = arguments == nullptr ? std::nullopt : arguments->as_string();
  const bool blank = !given || given->find_first_not_of(" \t\r\n") == std::string_view::npos;
  return blank ? object : std::string(*given);
}

void write_arguments(JsonWriter& json, const Json* arguments, const MessageForm& form) {
  const auto object = arguments_object(arguments);
  json.key("arguments");
  if (!object) {
    json.value(*arguments->as_string());
  } else if (form.text_arguments) {
    json.value(std::string_view(arguments_text(arguments, *object)));
  } else {
    json.raw(*object);
  }
}

void write_function(JsonWriter& json, const Json& function, const MessageForm& form) {
  json.begin_object();
  for (const auto& [name, value] : function.members())
    if (name != "arguments") json.key(name).raw(json_text(value));
  write_arguments(json, function.find("arguments"), form);
  json.end_object();
}

Status write_calls(JsonWriter& json, const Json& calls, const MessageForm& form,
                   const std::string& where) {
  if (!calls.is_array()) return unwanted(where, calls, "an array of calls");
  json.begin_array();
  for (size_t i = 0; i < calls.items().size(); ++i) {
    const Json& call = calls.items()[i];
    if (!call.is_object()) return unwanted(fmt::format("{}[{}]", where, i), call, "a call");
    const Json* function = call.find("function");
    // Some clients leave out what stands around name and arguments.
    if (function == nullptr || !function->is_object()) {
      write_function(json, call, form);
      continue;
    }
    json.begin_object();
    for (const auto& [name, value] : call.members()) {
      json.key(name);
      if (name == "function") {
        write_function(json, value, form);
      } else {
        json.raw(json_text(value));
      }
    }
    json.end_object();
  }
  json.end_array();
  return {};
}

void write_content(JsonWriter& json, std::string_view text, bool null_when_empty,
                   const MessageForm& form) {
  if (text.empty() && null_when_empty) {
    json.null();
  } else if (form.content_parts) {
    json.begin_array().begin_object();
    json.member("type", "text").member("text", text);
    json.end_object().end_array();
  } else {
    json.value(text);
  }
}

Status write_message(JsonWriter& json, const Json& message, const MessageForm& form,
                     const std::string& where) {
  if (!message.is_object()) return unwanted(where, message, "a message");
  const Json* content = message.find("content");
  const Json* calls = message.find("tool_calls");
  if (calls != nullptr && calls->is_null()) calls = nullptr;
  const bool has_calls = calls != nullptr && !calls->items().empty();
  SMOE_TRY(const std::string text,
           content_text(content == nullptr ? Json() : *content, where + ".content"));
  json.begin_object();
  for (const auto& [name, value] : message.members()) {
    if (name == "content") {
      json.key(name);
      write_content(json, text, has_calls && form.null_content, form);
    } else if (name == "tool_calls") {
      if (calls == nullptr) continue;
      json.key(name);
      SMOE_DO(write_calls(json, *calls, form, where + ".tool_calls"));
    } else {
      json.key(name).raw(json_text(value));
    }
  }
  if (content == nullptr) {
    json.key("content");
    write_content(json, text, has_calls && form.null_content, form);
  }
  json.end_object();
  return {};
}

bool is_plain(const Json& message, const MessageForm& form) {
  const Json* content = message.find("content");
  return content != nullptr && content->is_string() && !form.content_parts &&
         message.find("tool_calls") == nullptr;
}

}  // namespace

Result<std::string> content_text(const Json& content, std::string_view where) {
  if (content.is_null()) return std::string();
  if (const auto text = content.as_string()) return std::string(*text);
  if (!content.is_array()) return unwanted(where, content, "null, a string or an array of parts");
  std::string all;
  for (size_t i = 0; i < content.items().size(); ++i) {
    SMOE_TRY(const std::string text,
             part_text(content.items()[i], fmt::format("{}[{}]", where, i)));
    all += text;
  }
  return all;
}

Result<Json> normalized_messages(const Json& variables, const MessageForm& form) {
  const Json* messages = variables.find("messages");
  if (messages == nullptr) return variables;
  if (!messages->is_array()) return unwanted("messages", *messages, "an array");
  const auto& list = messages->items();
  // Most conversations are in the form that most templates want.
  if (std::all_of(list.begin(), list.end(), [&](const Json& each) { return is_plain(each, form); }))
    return variables;

  JsonWriter json;
  json.begin_object();
  for (const auto& [name, value] : variables.members()) {
    json.key(name);
    if (name != "messages") {
      json.raw(json_text(value));
      continue;
    }
    json.begin_array();
    for (size_t i = 0; i < list.size(); ++i)
      SMOE_DO(write_message(json, list[i], form, fmt::format("messages[{}]", i)));
    json.end_array();
  }
  return Json::parse(json.end_object().take(), kRewritten);
}

}  // namespace smoe
