#include "server/output_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/json_text.h"
#include "server/tool_calls/call_grammar.h"
#include "text/chat/reasoning.h"
#include "text/grammar/gbnf.h"
#include "text/grammar/json_rules.h"
#include "text/grammar/json_schema.h"
#include "text/grammar/thought.h"

namespace smoe::server {
namespace {

using OutputKind = OutputRules::Kind;

std::string word_at(const Json& object, std::string_view name) {
  const Json* value = object.find(name);
  return std::string(value == nullptr ? "" : value->as_string().value_or(""));
}

// {"type": "text" | "json_object" | "json_schema"}; the schema stands in `schema`, or one level
// deeper in `json_schema`.
OutputRules rules_of_format(Fields& fields, const Json& format, const std::string& where) {
  OutputRules rules{.param = where};
  const std::string type = word_at(format, "type");
  if (type == "text") return rules;
  const Json* nested = format.find("json_schema");
  const Json* schema = (nested == nullptr ? format : *nested).find("schema");
  if (type == "json_object" || type == "json_schema") {
    rules.kind = schema == nullptr ? OutputKind::kObject : OutputKind::kSchema;
    rules.schema = schema;
    if (schema == nullptr && type == "json_schema") fields.fail(where, "has no schema");
  } else {
    fields.fail(where + ".type", "is none of text, json_object, json_schema");
  }
  return rules;
}

Result<Expression> answer_of(GrammarRules& rules, const OutputRules& output) {
  if (output.kind == OutputKind::kSchema) return schema_value(rules, *output.schema);
  if (output.kind == OutputKind::kGrammar) {
    SMOE_TRY(rules, parse_gbnf(output.grammar));
    return rule_of(rules.root);
  }
  return JsonRules(rules).object();
}

// {"type":"function","function":{…,"strict":true}}, or without the inner object.
std::vector<std::string> strict_functions(const Json* tools) {
  std::vector<std::string> names;
  if (tools == nullptr) return names;
  for (const Json& tool : tools->items()) {
    const Json* nested = tool.find("function");
    const Json& described = nested == nullptr ? tool : *nested;
    const Json* strict = described.find("strict");
    if (strict != nullptr && strict->as_bool() == true) names.push_back(word_at(described, "name"));
  }
  return names;
}

// Where grammars do not have what a schema uses, arguments are any object; a strict function's
// must not be.
Status check_strict(const Json& tools, const std::vector<std::string>& strict) {
  for (const Json& tool : tools.items()) {
    const Json* described = tool.find("function");
    const Json* parameters = described == nullptr ? nullptr : described->find("parameters");
    if (parameters == nullptr) continue;
    const std::string name = word_at(*described, "name");
    if (std::find(strict.begin(), strict.end(), name) == strict.end()) continue;
    GrammarRules unused;
    if (auto value = schema_value(unused, *parameters); !value)
      return std::move(value).error().in("the strict function '" + name + "'");
  }
  return {};
}

bool holds_calls(const ServedModel& model, const OutputRules& output,
                 const OutputContext& context) {
  const ToolFormat* format = model.tool_format();
  // Where the marks of an answer are control tokens themselves, no text is free of them.
  return output.kind == OutputKind::kFree && !context.choice.forced && context.tools != nullptr &&
         !context.choice.strict.empty() && format != nullptr && format->silent.empty();
}

Result<GrammarRules> make_rules(const ServedModel& model, const OutputRules& output,
                                const OutputContext& context) {
  GrammarRules rules;
  std::vector<Expression> choices;
  const bool free_text = holds_calls(model, output, context);
  if (context.tools != nullptr) SMOE_DO(check_strict(*context.tools, context.choice.strict));
  if (!context.choice.forced && !free_text) {
    SMOE_TRY(Expression answer, answer_of(rules, output));
    choices.push_back(std::move(answer));
  }
  const bool may_call = context.tools != nullptr && model.tool_format() != nullptr;
  if (may_call && output.kind != OutputKind::kGrammar) {
    const CallSpelling spelling{*model.tool_format(), model.tokenizer(), model.template_source(),
                                model.stops()};
    SMOE_TRY(Expression call,
             call_expression(rules, spelling, *context.tools, context.choice.function));
    choices.push_back(free_text ? text_with_calls(rules, spelling, std::move(call))
                                : behind_mark(spelling, std::move(call)));
  }
  rules.root = rules.add("answer");
  Expression answer = one_of(std::move(choices));
  const ReasoningMarks& marks = model.reasoning_marks();
  if (context.starts_thinking || context.may_think)
    answer = behind_thought(model.tokenizer(), {marks.open, marks.close, context.starts_thinking},
                            std::move(answer));
  rules.rules[rules.root].body = std::move(answer);
  return rules;
}

std::string key_of(const OutputRules& output, const OutputContext& context) {
  return fmt::format("{} {} {} {} {} {}\n{}\n{}\n{}", static_cast<int>(output.kind),
                     context.choice.forced, fmt::join(context.choice.strict, ","),
                     context.starts_thinking, context.may_think, context.choice.function,
                     output.schema == nullptr ? "" : json_text(*output.schema), output.grammar,
                     context.tools == nullptr ? "" : json_text(*context.tools));
}

}  // namespace

OutputRules read_openai_rules(Fields& fields) {
  OutputRules rules;
  int wishes = 0;
  if (const Json* format = fields.object("response_format")) {
    rules = rules_of_format(fields, *format, "response_format");
    wishes += rules.kind == OutputKind::kFree ? 0 : 1;
  }
  if (const Json* schema = fields.object("json_schema"); schema && !schema->members().empty()) {
    rules = {.kind = OutputKind::kSchema, .schema = schema, .param = "json_schema"};
    ++wishes;
  }
  if (auto grammar = fields.text("grammar").value_or(""); !grammar.empty()) {
    rules = {.kind = OutputKind::kGrammar, .grammar = std::move(grammar), .param = "grammar"};
    ++wishes;
  }
  if (wishes > 1) fields.fail(rules.param, "is one of two ways to say how the answer must look");
  return rules;
}

OutputRules read_responses_rules(Fields& fields) {
  const Json* text = fields.object("text");
  const Json* format = text == nullptr ? nullptr : text->find("format");
  if (format == nullptr || format->is_null()) return {};
  return rules_of_format(fields, *format, "text.format");
}

OutputRules read_anthropic_rules(Fields& fields) {
  if (const Json* format = fields.object("output_format"))
    return rules_of_format(fields, *format, "output_format");
  const Json* config = fields.object("output_config");
  const Json* format = config == nullptr ? nullptr : config->find("format");
  if (format == nullptr || format->is_null()) return {};
  return rules_of_format(fields, *format, "output_config.format");
}

ToolChoice read_openai_choice(Fields& fields) {
  ToolChoice choice;
  choice.strict = strict_functions(fields.find("tools"));
  const Json* value = fields.find("tool_choice");
  if (value == nullptr || value->as_string() == "auto") return choice;
  if (value->as_string() == "none") return {.allowed = false};
  choice.forced = true;
  if (value->as_string() == "required") return choice;
  const Json* nested = value->find("function");
  choice.function = word_at(nested == nullptr ? *value : *nested, "name");
  if (word_at(*value, "type") != "function" || choice.function.empty())
    fields.fail("tool_choice", "is none of auto, none, required, nor names a function");
  return choice;
}

ToolChoice read_anthropic_choice(Fields& fields) {
  ToolChoice choice{.strict = strict_functions(fields.find("tools"))};
  const Json* value = fields.object("tool_choice");
  if (value == nullptr) return choice;
  const std::string type = word_at(*value, "type");
  if (type == "auto") return choice;
  if (type == "none") return {.allowed = false};
  choice.forced = true;
  if (type == "tool") choice.function = word_at(*value, "name");
  if (type == "any") return choice;
  if (type != "tool") {
    fields.fail("tool_choice.type", "is none of auto, none, any, tool");
  } else if (choice.function.empty()) {
    fields.fail("tool_choice.name", "is missing");
  }
  return choice;
}

ApiResult<std::shared_ptr<TokenMasks>> output_masks(ServedModel& model, const OutputRules& rules,
                                                    const OutputContext& context) {
  if (context.choice.forced && context.tools == nullptr)
    return ApiError{.message = "tool_choice asks for a call, but there are no tools",
                    .param = "tool_choice"};
  if (context.choice.forced && model.tool_format() == nullptr)
    return ApiError{.message = "tool_choice cannot force a call: the chat template of '" +
                               model.id() + "' has no form for calls that this server knows",
                    .param = "tool_choice"};
  if (rules.kind == OutputKind::kFree && !context.choice.forced &&
      !holds_calls(model, rules, context))
    return std::shared_ptr<TokenMasks>();
  auto masks = model.grammars().find_or_make(key_of(rules, context),
                                             [&] { return make_rules(model, rules, context); });
  if (masks) return *std::move(masks);
  const std::string param = context.choice.forced             ? "tool_choice"
                            : rules.kind == OutputKind::kFree ? "tools"
                                                              : rules.param;
  return ApiError{.message = fmt::format("{}: {}", param, masks.error().message), .param = param};
}

ApiResult<std::shared_ptr<TokenMasks>> parse_and_hold(ServedModel& model,
                                                      AnswerParser::Options& parser,
                                                      const ChatOutput& output) {
  const ToolFormat* format = model.tool_format();
  // Marks that are no part of an answer are to be dropped without tools as well.
  if (!output.tools.empty() || (format != nullptr && !format->silent.empty()))
    parser.format = format;
  if (!output.tools.empty()) {
    if (auto list = Json::parse(output.tools, {.max_depth = 128, .unique_keys = false}))
      parser.tools = *std::move(list);
  }
  parser.marks = model.reasoning_marks();
  const bool may_think = parser.split_reasoning && output.wishes.think != false &&
                         model.template_source().find(parser.marks.open) != std::string::npos;
  return output_masks(model, output.rules,
                      {.tools = output.tools.empty() ? nullptr : &parser.tools,
                       .choice = output.choice,
                       .starts_thinking = parser.starts_thinking,
                       .may_think = may_think});
}

}  // namespace smoe::server
