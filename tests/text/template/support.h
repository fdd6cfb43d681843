// Templates and variables for tests.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "text/template/chat_template.h"

namespace smoe::test {

inline RenderOptions options() {
  RenderOptions result;
  result.now.tm_year = 126;  // 2026-01-31, a Saturday
  result.now.tm_mon = 0;
  result.now.tm_mday = 31;
  result.now.tm_wday = 6;
  result.now.tm_yday = 30;
  return result;
}

// Names that end in _token are the model's own, everything else is a request's.
inline TemplateVariables variables(const nlohmann::ordered_json& members) {
  TemplateVariables result;
  for (const auto& [name, value] : members.items()) {
    const Origin origin = name.ends_with("_token") ? Origin::kTemplate : Origin::kVariable;
    result.set(name, *Json::parse(value.dump()), origin);
  }
  return result;
}

// The text, or "error: " and the message.
inline std::string rendered(std::string_view source, const nlohmann::ordered_json& members =
                                                         nlohmann::ordered_json::object()) {
  const auto parsed = ChatTemplate::parse(source, "t");
  if (!parsed) return "error: " + parsed.error().message;
  const auto prompt = parsed->render(variables(members), options());
  return prompt ? prompt->text : "error: " + prompt.error().message;
}

// The text with the parts that came from variables between [[ and ]].
inline std::string marked(std::string_view source, const nlohmann::ordered_json& members) {
  const auto parsed = ChatTemplate::parse(source, "t");
  if (!parsed) return "error: " + parsed.error().message;
  const auto prompt = parsed->render(variables(members), options());
  if (!prompt) return "error: " + prompt.error().message;
  std::string result;
  for (const auto& span : prompt->spans) {
    const std::string text = prompt->text.substr(span.begin, span.end - span.begin);
    result += span.origin == Origin::kVariable ? "[[" + text + "]]" : text;
  }
  return result;
}

}  // namespace smoe::test
