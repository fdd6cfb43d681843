#include "server/tool_calls/call_grammar.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "text/grammar/json_rules.h"
#include "text/grammar/json_schema.h"
#include "text/grammar/token_tree.h"

namespace smoe::server {
namespace {

Expression mark_of(const CallSpelling& spelling, std::string_view text) {
  return text_of(grammar_text(spelling.tokenizer, text));
}

Expression value_or_any(GrammarRules& rules, const Json& schema) {
  if (auto value = schema_value(rules, schema)) return *std::move(value);
  return JsonRules(rules).value();
}

Expression argument_object(GrammarRules& rules, const Json& parameters) {
  const Json* properties = parameters.find("properties");
  const bool has_none = properties != nullptr && properties->members().empty() &&
                        parameters.find("additionalProperties") == nullptr;
  if (has_none) return text_of("{}");
  const Json* type = parameters.find("type");
  if (parameters.is_object() && type != nullptr && type->as_string() == "object")
    if (auto object = schema_value(rules, parameters)) return *std::move(object);
  return JsonRules(rules).object();
}

bool is_text(const Json& schema) {
  const Json* type = schema.find("type");
  return type != nullptr && type->as_string() == "string";
}

bool is_required(const Json& parameters, std::string_view name) {
  const Json* required = parameters.find("required");
  if (required == nullptr) return false;
  return std::any_of(required->items().begin(), required->items().end(),
                     [&](const Json& each) { return each.as_string() == name; });
}

// A value without quotes, and what ends it.
Expression bare_value(GrammarRules& rules, const Json& schema, std::string_view end) {
  if (!is_text(schema)) return all_of(list_of(value_or_any(rules, schema), text_of(end)));
  const Json* choices = schema.find("enum");
  if (choices == nullptr || choices->items().empty()) return until(end);
  std::vector<Expression> texts;
  for (const Json& choice : choices->items())
    texts.push_back(text_of(choice.as_string().value_or("")));
  return all_of(list_of(one_of(std::move(texts)), text_of(end)));
}

// What stands around the name of a parameter and behind its value.
struct PairMarks {
  std::string_view before_name;
  std::string_view behind_name;
  std::string_view end;
};

Expression bare_pairs(GrammarRules& rules, const Json& parameters, const PairMarks& marks) {
  std::vector<Expression> pairs;
  const Json* properties = parameters.find("properties");
  if (properties == nullptr) return all_of({});
  for (const auto& [name, schema] : properties->members()) {
    Expression pair =
        all_of(list_of(text_of(fmt::format("{}{}{}", marks.before_name, name, marks.behind_name)),
                       bare_value(rules, schema, marks.end)));
    pairs.push_back(repeated(std::move(pair), is_required(parameters, name) ? 1 : 0, 1));
  }
  return all_of(std::move(pairs));
}

}  // namespace

Expression json_call(GrammarRules& rules, const CallSpelling& /*spelling*/, std::string_view name,
                     const Json& parameters) {
  return all_of(list_of(text_of(fmt::format("\n{{\"name\": {}, \"arguments\": ", json_quote(name))),
                        argument_object(rules, parameters), text_of("}\n")));
}

Expression xml_call(GrammarRules& rules, const CallSpelling& /*spelling*/, std::string_view name,
                    const Json& parameters) {
  constexpr PairMarks kMarks{"<parameter=", ">\n", "\n</parameter>\n"};
  return all_of(list_of(text_of(fmt::format("\n<function={}>\n", name)),
                        bare_pairs(rules, parameters, kMarks), text_of("</function>\n")));
}

Expression pair_call(GrammarRules& rules, const CallSpelling& /*spelling*/, std::string_view name,
                     const Json& parameters) {
  constexpr PairMarks kMarks{"<arg_key>", "</arg_key>\n<arg_value>", "</arg_value>\n"};
  return all_of(list_of(text_of(fmt::format("{}\n", name)), bare_pairs(rules, parameters, kMarks)));
}

Expression deepseek_call(GrammarRules& rules, const CallSpelling& spelling, std::string_view name,
                         const Json& parameters) {
  const bool fenced = spelling.template_source.find("```json") != std::string_view::npos;
  const std::string_view before =
      fenced ? "<｜tool▁call▁begin｜>function<｜tool▁sep｜>" : "<｜tool▁call▁begin｜>";
  return all_of(list_of(mark_of(spelling, before), text_of(name),
                        fenced ? text_of("\n```json\n") : mark_of(spelling, "<｜tool▁sep｜>"),
                        argument_object(rules, parameters), text_of(fenced ? "\n```" : ""),
                        mark_of(spelling, "<｜tool▁call▁end｜>")));
}

Expression channel_call(GrammarRules& rules, const CallSpelling& spelling, std::string_view name,
                        const Json& parameters) {
  return all_of(list_of(text_of(name), mark_of(spelling, " <|constrain|>json<|message|>"),
                        argument_object(rules, parameters)));
}

Expression behind_mark(const CallSpelling& spelling, Expression call) {
  return all_of(list_of(mark_of(spelling, spelling.format.open), std::move(call)));
}

Expression text_with_calls(GrammarRules& rules, const CallSpelling& spelling, Expression call) {
  const std::string open = grammar_text(spelling.tokenizer, spelling.format.open);
  const uint32_t rest = rules.add("call");
  rules.rules[rest].body = std::move(call);
  return all_of(
      list_of(repeated(all_of(list_of(until(open), rule_of(rest))), 0, kNoBound), without(open)));
}

Result<Expression> call_expression(GrammarRules& rules, const CallSpelling& spelling,
                                   const Json& tools, std::string_view function) {
  std::vector<Expression> calls;
  const Json nothing;
  for (const Json& tool : tools.items()) {
    const Json* described = tool.find("function");
    const Json* name = described == nullptr ? nullptr : described->find("name");
    if (name == nullptr || !name->as_string()) continue;
    if (!function.empty() && name->as_string() != function) continue;
    const Json* parameters = described->find("parameters");
    calls.push_back(spelling.format.spell(rules, spelling, *name->as_string(),
                                          parameters == nullptr ? nothing : *parameters));
  }
  if (calls.empty())
    return Error{Code::kUsage, fmt::format("there is no function '{}' in tools", function)};
  std::vector<Expression> parts = list_of(one_of(std::move(calls)));
  const auto close = spelling.tokenizer.find(spelling.format.close);
  const auto& stops = spelling.stops;
  if (!close || std::find(stops.begin(), stops.end(), *close) == stops.end())
    parts.push_back(mark_of(spelling, spelling.format.close));
  return all_of(std::move(parts));
}

}  // namespace smoe::server
