// /v1/responses.
#include <utility>

#include "server/answer_run.h"
#include "server/chat_prompt.h"
#include "server/output_rules.h"
#include "server/responses_responder.h"
#include "server/service.h"

namespace smoe::server {
namespace {

// Members of the request that its answer repeats, with what they are when the request has none.
struct EchoedField {
  std::string_view name;
  std::string_view absent;
};
constexpr EchoedField kEchoed[] = {
    {"instructions", "null"}, {"max_output_tokens", "null"},
    {"metadata", "{}"},       {"temperature", "null"},
    {"top_p", "null"},        {"tool_choice", "\"auto\""},
    {"tools", "[]"},          {"truncation", "\"disabled\""},
    {"reasoning", "null"},    {"text", R"({"format":{"type":"text"}})"},
};

std::string echoed_members(const Json& body) {
  JsonWriter json;
  json.begin_object();
  for (const EchoedField& field : kEchoed) {
    json.key(field.name);
    const Json* value = body.find(field.name);
    if (value == nullptr) {
      json.raw(field.absent);
    } else {
      write_json(json, *value);
    }
  }
  json.end_object();
  const std::string& text = json.text();
  return text.substr(1, text.size() - 2);
}

void refuse_stored_state(Fields& fields) {
  constexpr std::string_view kStateless =
      "is not supported: nothing is stored, so send the whole conversation as input";
  fields.refuse("previous_response_id", "", kStateless);
  fields.refuse("conversation", "", kStateless);
  fields.refuse("background", "false", kStateless);
  fields.refuse("prompt", "", "is not supported: there are no stored prompts");
  fields.refuse("truncation", "\"disabled\"", "is not supported: nothing is left out");
}

struct PreparedResponse {
  ModelLease model;
  AnswerCall call;
  ResponsesStyle style;
  bool stream = false;
};

ApiResult<PreparedResponse> prepare_response(Service& service, const Exchange& exchange) {
  SMOE_API_TRY(const Json body, parse_body(exchange.request().body));
  Fields fields(body);
  const std::string name = fields.text("model").value_or("");
  refuse_stored_state(fields);
  if (fields.error()) return *fields.error();
  SMOE_API_TRY(Conversation conversation, responses_conversation(body));

  PreparedResponse prepared;
  SMOE_API_TRY(prepared.model, service.fleet.acquire(name));
  const ServedModel& model = *prepared.model;
  prepared.style = {model.id(), echoed_members(body)};
  prepared.stream = fields.flag("stream").value_or(false);
  AnswerCall& call = prepared.call;
  call.prompt_field = "input";
  call.sampling = read_sampling(fields, model.sampling(), model.engine().spec().vocabulary);
  if (const auto most = fields.count("max_output_tokens", 1, kMaxAnswerTokens))
    call.sampling.max_tokens = static_cast<uint32_t>(*most);
  ChatWishes wishes = read_chat_wishes(fields);
  if (const Json* reasoning = fields.object("reasoning")) {
    const Json* effort = reasoning->find("effort");
    const std::string text(effort == nullptr ? "" : effort->as_string().value_or(""));
    if (text == "none") wishes.think = false;
    if (text != "none") wishes.reasoning_effort = text;
  }
  const OutputRules rules = read_responses_rules(fields);
  const ToolChoice choice = read_openai_choice(fields);
  if (!choice.allowed) conversation.tools.clear();
  if (fields.error()) return *fields.error();

  SMOE_API_TRY(RenderedChat chat, render_chat(model, conversation, wishes));
  call.prompts.push_back(std::move(chat.tokens));
  call.parser.split_reasoning = true;
  call.parser.starts_thinking = chat.starts_thinking;
  SMOE_API_TRY(call.masks, parse_and_hold(*prepared.model, call.parser,
                                          {conversation.tools, wishes, choice, rules}));
  return prepared;
}

}  // namespace

void responses(Service& service, const ExchangePtr& exchange) {
  auto prepared = prepare_response(service, *exchange);
  if (!prepared) return answer_error(exchange, prepared.error());
  auto responder = make_responses_responder(exchange, prepared->stream, std::move(prepared->style));
  run_answer(std::move(prepared->model), std::move(prepared->call), std::move(responder), exchange,
             service.metrics);
}

}  // namespace smoe::server
