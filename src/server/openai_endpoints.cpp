// /v1/chat/completions and /v1/completions.
#include <fmt/format.h>

#include <utility>

#include "server/answer_run.h"
#include "server/chat_prompt.h"
#include "server/openai_responder.h"
#include "server/output_rules.h"
#include "server/service.h"

namespace smoe::server {
namespace {

constexpr uint64_t kMostChoices = 16;
constexpr uint64_t kMostTopLogprobs = 20;
constexpr size_t kMostPrompts = 64;

// Fields that exist, change the answer, and that this server cannot serve.
void refuse_unsupported(Fields& fields) {
  fields.refuse("functions", "[]", "was replaced by tools, which this server supports");
  fields.refuse("function_call", "\"auto\"", "was replaced by tool_choice");
  fields.refuse("audio", "", "is not supported: this server writes text");
  fields.refuse("modalities", R"(["text"])", "is not supported: this server writes text");
  fields.refuse("web_search_options", "", "is not supported: this server does not search");
  fields.refuse("store", "false", "is not supported: nothing is stored");
}

OpenAiStyle read_style(Fields& fields, const Service& service, const ServedModel& model) {
  OpenAiStyle style{.model = model.id(), .reasoning_field = service.options.reasoning_field};
  style.return_progress = fields.flag("return_progress").value_or(false);
  if (const Json* options = fields.object("stream_options")) {
    Fields inner(*options, "stream_options.");
    style.include_usage = inner.flag("include_usage").value_or(false);
    if (inner.error()) fields.fail("stream_options.include_usage", "is neither true nor false");
  }
  return style;
}

struct Prepared {
  ModelLease model;
  AnswerCall call;
  OpenAiStyle style;
  bool stream = false;
};

ApiResult<Prepared> prepare_chat(Service& service, const Exchange& exchange) {
  SMOE_API_TRY(const Json body, parse_body(exchange.request().body));
  Fields fields(body);
  const std::string name = fields.text("model").value_or("");
  SMOE_API_TRY(Conversation conversation, openai_conversation(body));
  refuse_unsupported(fields);
  if (fields.error()) return *fields.error();

  Prepared prepared;
  SMOE_API_TRY(prepared.model, service.fleet.acquire(name));
  const ServedModel& model = *prepared.model;
  prepared.style = read_style(fields, service, model);
  prepared.stream = fields.flag("stream").value_or(false);
  AnswerCall& call = prepared.call;
  call.sampling = read_sampling(fields, model.sampling(), model.engine().spec().vocabulary);
  call.choices = static_cast<uint32_t>(fields.count("n", 1, kMostChoices).value_or(1));
  prepared.style.logprobs = fields.flag("logprobs").value_or(false);
  const auto top = fields.count("top_logprobs", 0, kMostTopLogprobs);
  if (top.value_or(0) > 0 && !prepared.style.logprobs)
    fields.fail("top_logprobs", "needs logprobs to be true");
  if (prepared.style.logprobs) call.top_logprobs = static_cast<uint32_t>(top.value_or(0));
  const ChatWishes wishes = read_chat_wishes(fields);
  const OutputRules rules = read_openai_rules(fields);
  const ToolChoice choice = read_openai_choice(fields);
  const std::string format = fields.text("reasoning_format").value_or("auto");
  if (fields.error()) return *fields.error();

  if (!choice.allowed) conversation.tools.clear();
  SMOE_API_TRY(RenderedChat chat, render_chat(model, conversation, wishes));
  prepared.style.choices_per_prompt = call.choices;
  call.prompts.push_back(std::move(chat.tokens));
  call.parser.split_reasoning = format != "none";
  call.parser.starts_thinking = chat.starts_thinking;
  SMOE_API_TRY(call.masks, parse_and_hold(*prepared.model, call.parser,
                                          {conversation.tools, wishes, choice, rules}));
  return prepared;
}

ApiResult<std::vector<TokenId>> token_prompt(const Json& list, uint32_t vocabulary) {
  std::vector<TokenId> tokens;
  for (const Json& item : list.items()) {
    const auto id = item.is_number() ? item.as_uint() : std::nullopt;
    if (!id || *id >= vocabulary)
      return ApiError{
          .message = fmt::format("prompt has an item that is no token id below {}", vocabulary),
          .param = "prompt"};
    tokens.push_back(TokenId{static_cast<uint32_t>(*id)});
  }
  return tokens;
}

ApiResult<std::vector<TokenId>> one_prompt(const Json& prompt, const ServedModel& model) {
  if (prompt.is_array()) return token_prompt(prompt, model.engine().spec().vocabulary);
  const auto text = prompt.as_string();
  if (!text) return ApiError{.message = "prompt is neither text nor tokens", .param = "prompt"};
  auto tokens = model.encode_text(*text);
  if (!tokens) return api_error_of(tokens.error());
  return *std::move(tokens);
}

// A text, token ids, or an array of either.
ApiResult<std::vector<std::vector<TokenId>>> read_prompts(const Json& body,
                                                          const ServedModel& model) {
  const Json* prompt = body.find("prompt");
  if (prompt == nullptr) return ApiError{.message = "prompt is missing", .param = "prompt"};
  const bool several = !prompt->items().empty() && !prompt->items().front().is_number();
  std::vector<std::vector<TokenId>> prompts;
  if (!several) {
    SMOE_API_TRY(std::vector<TokenId> tokens, one_prompt(*prompt, model));
    prompts.push_back(std::move(tokens));
  }
  for (size_t i = 0; several && i < prompt->items().size(); ++i) {
    SMOE_API_TRY(std::vector<TokenId> tokens, one_prompt(prompt->items()[i], model));
    prompts.push_back(std::move(tokens));
  }
  for (const auto& tokens : prompts)
    if (tokens.empty()) return ApiError{.message = "prompt is empty", .param = "prompt"};
  if (prompts.size() > kMostPrompts)
    return ApiError{.message = fmt::format("more than {} prompts at once", kMostPrompts),
                    .param = "prompt"};
  return prompts;
}

ApiResult<Prepared> prepare_text(Service& service, const Exchange& exchange) {
  SMOE_API_TRY(const Json body, parse_body(exchange.request().body));
  Fields fields(body);
  const std::string name = fields.text("model").value_or("");
  fields.refuse("suffix", "\"\"", "is not supported: texts are continued at their end");
  fields.refuse("best_of", "1", "is not supported; n is");
  refuse_unsupported(fields);
  if (fields.error()) return *fields.error();

  Prepared prepared;
  SMOE_API_TRY(prepared.model, service.fleet.acquire(name));
  const ServedModel& model = *prepared.model;
  prepared.style = read_style(fields, service, model);
  prepared.stream = fields.flag("stream").value_or(false);
  AnswerCall& call = prepared.call;
  call.prompt_field = "prompt";
  call.sampling = read_sampling(fields, model.sampling(), model.engine().spec().vocabulary);
  // OpenAI's default here, unlike in chats.
  if (call.sampling.max_tokens == 0) call.sampling.max_tokens = 16;
  call.choices = static_cast<uint32_t>(fields.count("n", 1, kMostChoices).value_or(1));
  prepared.style.choices_per_prompt = call.choices;
  const auto logprobs = fields.count("logprobs", 0, kMostTopLogprobs);
  prepared.style.logprobs = logprobs.has_value();
  if (logprobs) call.top_logprobs = static_cast<uint32_t>(*logprobs);
  const bool echo = fields.flag("echo").value_or(false);
  if (echo && logprobs)
    fields.fail("echo", "cannot be combined with logprobs: those of the prompt are not computed");
  const OutputRules rules = read_openai_rules(fields);
  if (fields.error()) return *fields.error();
  SMOE_API_TRY(call.prompts, read_prompts(body, model));
  SMOE_API_TRY(call.masks, output_masks(*prepared.model, rules, {}));
  if (echo && call.prompts.size() > 1)
    return ApiError{.message = "echo works with one prompt", .param = "echo"};
  if (echo) prepared.style.echo = model.tokenizer().decode(call.prompts.front(), true);
  return prepared;
}

using MakeResponder = std::unique_ptr<Responder> (*)(std::shared_ptr<Exchange>, bool, size_t,
                                                     OpenAiStyle);

void run_prepared(Service& service, const ExchangePtr& exchange, ApiResult<Prepared> prepared,
                  MakeResponder make_responder) {
  if (!prepared) return answer_error(exchange, prepared.error());
  const size_t choices = prepared->call.prompts.size() * prepared->call.choices;
  auto responder = make_responder(exchange, prepared->stream, choices, std::move(prepared->style));
  run_answer(std::move(prepared->model), std::move(prepared->call), std::move(responder), exchange,
             service.metrics);
}

}  // namespace

void chat_completions(Service& service, const ExchangePtr& exchange) {
  run_prepared(service, exchange, prepare_chat(service, *exchange), make_chat_responder);
}

void text_completions(Service& service, const ExchangePtr& exchange) {
  run_prepared(service, exchange, prepare_text(service, *exchange), make_completion_responder);
}

}  // namespace smoe::server
