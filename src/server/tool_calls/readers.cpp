#include "server/tool_calls/readers.h"

#include <utility>

#include "base/json_text.h"
#include "server/tool_calls/marks.h"

namespace smoe::server {
namespace {

// Takes what stands before `mark` off the front of `text`, and the mark; nothing when it is not
// there.
std::optional<std::string_view> take_until(std::string_view& text, std::string_view mark) {
  const size_t at = text.find(mark);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view before = text.substr(0, at);
  text.remove_prefix(at + mark.size());
  return before;
}

std::optional<ToolCall> call_of(const Json& json) {
  const Json* name = json.find("name");
  if (name == nullptr || !name->as_string() || name->as_string()->empty()) return std::nullopt;
  const Json* arguments = json.find("arguments");
  if (arguments == nullptr) arguments = json.find("parameters");
  ToolCall call{std::string(*name->as_string()), "{}"};
  if (arguments == nullptr || arguments->is_null()) return call;
  if (!arguments->is_object() && !arguments->is_string()) return std::nullopt;
  // Some models write the object as a string, as the API has it.
  auto text = arguments->is_object() ? json_text(*arguments)
                                     : object_text(arguments->as_string().value_or(""));
  if (!text) return std::nullopt;
  call.arguments = *std::move(text);
  return call;
}

// The line breaks next to the tags belong to them.
std::string_view without_line_breaks(std::string_view text) {
  if (text.starts_with('\n')) text.remove_prefix(1);
  if (text.ends_with('\n')) text.remove_suffix(1);
  return text;
}

}  // namespace

const Json* properties_of(const Json& tools, std::string_view function) {
  for (const Json& tool : tools.items()) {
    const Json* described = tool.find("function");
    if (described == nullptr) described = &tool;
    const Json* name = described->find("name");
    if (name == nullptr || name->as_string() != function) continue;
    const Json* parameters = described->find("parameters");
    return parameters == nullptr ? nullptr : parameters->find("properties");
  }
  return nullptr;
}

std::string bare_value_json(const Json* schema, std::string_view value) {
  const std::string_view text = without_line_breaks(value);
  const Json* type = schema == nullptr ? nullptr : schema->find("type");
  if (type == nullptr || type->as_string() != "string") {
    if (const auto json = Json::parse(text, {.max_depth = 128, .unique_keys = false}))
      return json_text(*json);
  }
  return json_quote(text);
}

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::optional<std::string> object_text(std::string_view text) {
  if (trimmed(text).empty()) return "{}";
  const auto json = Json::parse(text, {.max_depth = 128, .unique_keys = false});
  if (!json || !json->is_object()) return std::nullopt;
  return json_text(*json);
}

PairWriter::PairWriter(const Json& tools, std::string_view function)
    : properties_(properties_of(tools, function)) {
  json_.begin_object();
}

void PairWriter::add(std::string_view parameter, std::string_view value) {
  const Json* schema = properties_ == nullptr ? nullptr : properties_->find(parameter);
  json_.key(parameter).raw(bare_value_json(schema, value));
}

std::string PairWriter::take() {
  json_.end_object();
  return json_.take();
}

ToolCalls read_json_calls(std::string_view text, const Json& /*tools*/) {
  const auto json = Json::parse(trimmed(text), {.max_depth = 128, .unique_keys = false});
  if (!json) return std::nullopt;
  std::vector<ToolCall> calls;
  if (json->is_object()) {
    auto call = call_of(*json);
    if (!call) return std::nullopt;
    calls.push_back(*std::move(call));
  }
  for (const Json& item : json->items()) {
    auto call = call_of(item);
    if (!call) return std::nullopt;
    calls.push_back(*std::move(call));
  }
  if (calls.empty()) return std::nullopt;
  return calls;
}

ToolCalls read_xml_calls(std::string_view text, const Json& tools) {
  std::vector<ToolCall> calls;
  while (take_until(text, kFunctionOpen)) {
    const auto name = take_until(text, ">");
    if (!name) return std::nullopt;
    // The last function may lack its end.
    std::string_view rest = text;
    std::string_view body = take_until(text, kFunctionClose).value_or(rest);
    PairWriter arguments(tools, trimmed(*name));
    while (take_until(body, kParameterOpen)) {
      const auto parameter = take_until(body, ">");
      const auto value = parameter ? take_until(body, kParameterClose) : std::nullopt;
      if (!value) return std::nullopt;
      arguments.add(trimmed(*parameter), *value);
    }
    calls.push_back({std::string(trimmed(*name)), arguments.take()});
  }
  // A model that was shown both ways may write JSON.
  if (calls.empty()) return read_json_calls(text, tools);
  return calls;
}

ToolCalls read_pair_calls(std::string_view text, const Json& tools) {
  const std::string_view name = trimmed(text.substr(0, text.find(kKeyOpen)));
  if (name.empty() || name.find_first_of("{}<> \n") != std::string_view::npos)
    return read_json_calls(text, tools);
  PairWriter arguments(tools, name);
  while (take_until(text, kKeyOpen)) {
    const auto key = take_until(text, kKeyClose);
    if (!key || !take_until(text, kValueOpen)) return std::nullopt;
    const auto value = take_until(text, kValueClose);
    if (!value) return std::nullopt;
    arguments.add(trimmed(*key), *value);
  }
  return std::vector{ToolCall{std::string(name), arguments.take()}};
}

ToolCalls read_deepseek_calls(std::string_view text, const Json& /*tools*/) {
  std::vector<ToolCall> calls;
  while (take_until(text, kCallBegin)) {
    const std::string_view rest = text;
    std::string_view call = take_until(text, kCallEnd).value_or(rest);
    const auto before = take_until(call, kCallSeparator);
    if (!before) return std::nullopt;
    std::string_view name = trimmed(*before);
    if (name == "function") {  // the older spelling: the name follows, the object in a fence
      name = trimmed(call.substr(0, call.find('\n')));
      if (!take_until(call, "```json")) return std::nullopt;
      call = call.substr(0, call.rfind("```"));
    }
    auto arguments = object_text(trimmed(call));
    if (name.empty() || !arguments) return std::nullopt;
    calls.push_back({std::string(name), *std::move(arguments)});
  }
  if (calls.empty()) return std::nullopt;
  return calls;
}

ToolCalls read_channel_calls(std::string_view text, const Json& /*tools*/) {
  const auto head = take_until(text, kMessageMark);
  if (!head) return std::nullopt;
  const std::string_view name = head->substr(0, head->find_first_of(" <"));
  auto arguments = object_text(trimmed(text));
  if (name.empty() || !arguments) return std::nullopt;
  return std::vector{ToolCall{std::string(name), *std::move(arguments)}};
}

}  // namespace smoe::server
