// /v1/messages and /v1/messages/count_tokens.
#include <fmt/format.h>

#include <random>
#include <utility>

#include "server/answer_run.h"
#include "server/anthropic_responder.h"
#include "server/chat_prompt.h"
#include "server/output_rules.h"
#include "server/service.h"

namespace smoe::server {
namespace {

Sampling read_anthropic_sampling(Fields& fields, const SamplerOptions& defaults) {
  Sampling sampling{.sampler = defaults};
  if (const auto number = fields.real("temperature", 0, 2))
    sampling.sampler.temperature = static_cast<float>(*number);
  if (const auto number = fields.real("top_p", 0, 1))
    sampling.sampler.top_p = static_cast<float>(*number);
  if (const auto number = fields.count("top_k", 0, kMaxAnswerTokens))
    sampling.sampler.top_k = static_cast<uint32_t>(*number);
  const auto most = fields.count("max_tokens", 1, kMaxAnswerTokens);
  if (!most) fields.fail("max_tokens", "is missing");
  sampling.max_tokens = static_cast<uint32_t>(most.value_or(0));
  sampling.stops = fields.texts("stop_sequences", kMaxStops, kMaxStopBytes);
  sampling.sampler.seed = fields.count("seed", 0, UINT64_MAX).value_or(std::random_device{}());
  return sampling;
}

ChatWishes read_thinking(Fields& fields) {
  ChatWishes wishes;
  wishes.variables = fields.object("chat_template_kwargs");
  const Json* thinking = fields.object("thinking");
  if (thinking == nullptr) return wishes;
  const Json* type = thinking->find("type");
  const auto text = type == nullptr ? std::nullopt : type->as_string();
  if (text == "enabled" || text == "adaptive") {
    wishes.think = true;
  } else if (text == "disabled") {
    wishes.think = false;
  } else {
    fields.fail("thinking.type", "is none of enabled, adaptive, disabled");
  }
  return wishes;
}

struct PreparedMessage {
  ModelLease model;
  AnswerCall call;
  bool stream = false;
};

ApiResult<PreparedMessage> prepare_message(Service& service, const Exchange& exchange,
                                           bool counts_only) {
  SMOE_API_TRY(const Json body, parse_body(exchange.request().body));
  Fields fields(body);
  const std::string name = fields.text("model").value_or("");
  SMOE_API_TRY(Conversation conversation, anthropic_conversation(body));
  if (fields.error()) return *fields.error();
  PreparedMessage prepared;
  SMOE_API_TRY(prepared.model, service.fleet.acquire(name));
  const ServedModel& model = *prepared.model;
  prepared.stream = fields.flag("stream").value_or(false);
  AnswerCall& call = prepared.call;
  if (!counts_only) call.sampling = read_anthropic_sampling(fields, model.sampling());
  const ChatWishes wishes = read_thinking(fields);
  const OutputRules rules = read_anthropic_rules(fields);
  const ToolChoice choice = read_anthropic_choice(fields);
  if (fields.error()) return *fields.error();

  if (!choice.allowed) conversation.tools.clear();
  SMOE_API_TRY(RenderedChat chat, render_chat(model, conversation, wishes));
  call.prompts.push_back(std::move(chat.tokens));
  call.parser.split_reasoning = true;
  call.parser.starts_thinking = chat.starts_thinking;
  SMOE_API_TRY(call.masks, parse_and_hold(*prepared.model, call.parser,
                                          {conversation.tools, wishes, choice, rules}));
  return prepared;
}

}  // namespace

void messages(Service& service, const ExchangePtr& exchange) {
  auto prepared = prepare_message(service, *exchange, false);
  if (!prepared) return answer_error(exchange, prepared.error());
  auto responder = make_messages_responder(exchange, prepared->stream, prepared->model->id(),
                                           prepared->call.prompts.front().size());
  run_answer(std::move(prepared->model), std::move(prepared->call), std::move(responder), exchange,
             service.metrics);
}

void count_message_tokens(Service& service, const ExchangePtr& exchange) {
  const auto prepared = prepare_message(service, *exchange, true);
  if (!prepared) return answer_error(exchange, prepared.error());
  answer_json(exchange,
              fmt::format("{{\"input_tokens\":{}}}", prepared->call.prompts.front().size()));
}

}  // namespace smoe::server
