// What a request wants its answer to look like: JSON, by a schema, by a grammar, a call of a tool.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "server/answer_parser.h"
#include "server/api_error.h"
#include "server/chat_prompt.h"
#include "server/fields.h"
#include "server/served_model.h"
#include "text/grammar/token_masks.h"

namespace smoe::server {

struct OutputRules {
  enum class Kind : uint8_t { kFree, kObject, kSchema, kGrammar };
  Kind kind = Kind::kFree;
  const Json* schema = nullptr;  // of the request's body
  std::string grammar = {};      // GBNF
  std::string param = {};        // the field that asks for it
};

// Whether the model may call tools, and must.
struct ToolChoice {
  bool allowed = true;
  bool forced = false;
  std::string function = {};  // the only one; "" for any
  // Functions whose arguments must follow their schema, if they are called.
  std::vector<std::string> strict = {};
};

// response_format, and llama-server's json_schema and grammar; at most one of them.
OutputRules read_openai_rules(Fields& fields);
// text.format of Responses.
OutputRules read_responses_rules(Fields& fields);
// output_config.format of Anthropic's API, and output_format, its earlier name.
OutputRules read_anthropic_rules(Fields& fields);

// "auto", "none", "required", or an object that names a function, in the forms of both of OpenAI's
// APIs; and which of `tools` are strict.
ToolChoice read_openai_choice(Fields& fields);
// {"type": "auto" | "none" | "any" | "tool", "name"}
ToolChoice read_anthropic_choice(Fields& fields);

struct OutputContext {
  const Json* tools = nullptr;  // the template's; nullptr where none may be called
  ToolChoice choice = {};
  bool starts_thinking = false;  // the prompt ends in an open thought
  bool may_think = false;        // the answer may begin with one
};

// nullptr where the answer is free. With strict functions it is free but for its calls, which
// all follow the schemas of their functions. Fails: 400 for a schema or grammar that cannot be
// followed, naming the field; and for a forced call of a model that has no form for calls.
ApiResult<std::shared_ptr<TokenMasks>> output_masks(ServedModel& model, const OutputRules& rules,
                                                    const OutputContext& context);

struct ChatOutput {
  const std::string& tools;  // the template's, as JSON text; "" for none
  const ChatWishes& wishes;
  const ToolChoice& choice;
  const OutputRules& rules;
};

// What every chat API does with these: `parser`, which knows whether the prompt ends in a thought,
// is told of the tools. Fails: as output_masks().
ApiResult<std::shared_ptr<TokenMasks>> parse_and_hold(ServedModel& model,
                                                      AnswerParser::Options& parser,
                                                      const ChatOutput& output);

}  // namespace smoe::server
