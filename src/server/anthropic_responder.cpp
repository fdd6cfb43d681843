#include "server/anthropic_responder.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "server/ids.h"
#include "server/openai_wire.h"
#include "server/tool_calls/readers.h"

namespace smoe::server {
namespace {

using Kind = AnswerPart::Kind;

std::string_view anthropic_stop_reason(StopReason reason) {
  switch (reason) {
    case StopReason::kEnd:
      return "end_turn";
    case StopReason::kStopString:
      return "stop_sequence";
    case StopReason::kLength:
      return "max_tokens";
    case StopReason::kToolCalls:
      return "tool_use";
  }
  return "end_turn";
}

// What was not found in the cache counts as input.
void write_anthropic_usage(JsonWriter& json, const AnswerCost& cost) {
  json.key("usage").begin_object();
  json.member("input_tokens",
              cost.prompt_tokens - std::min(cost.cached_tokens, cost.prompt_tokens));
  json.member("cache_creation_input_tokens", uint64_t{0});
  json.member("cache_read_input_tokens", cost.cached_tokens);
  json.member("output_tokens", cost.completion_tokens).end_object();
}

class MessagesResponder final : public Responder {
 public:
  MessagesResponder(std::shared_ptr<Exchange> exchange, bool streams, std::string model,
                    uint64_t prompt_tokens)
      : Responder(std::move(exchange), streams, 1),
        model_(std::move(model)),
        id_(random_id("msg_")),
        prompt_tokens_(prompt_tokens) {}

 private:
  ApiStyle style() const override { return ApiStyle::kAnthropic; }
  std::string keepalive() const override { return "event: ping\ndata: {\"type\": \"ping\"}\n\n"; }
  std::string new_call_id() const override { return random_id("toolu_"); }
  std::string error_event(const ApiError& error) const override {
    return fmt::format("event: error\ndata: {}\n\n", error_json(error, style()));
  }

  void send_event(std::string_view type, std::string_view members) {
    send(fmt::format("event: {0}\ndata: {{\"type\":\"{0}\"{1}{2}}}\n\n", type,
                     members.empty() ? "" : ",", members));
  }

  void begin_message(JsonWriter& json) const {
    json.begin_object().member("id", std::string_view(id_)).member("type", "message");
    json.member("role", "assistant").member("model", std::string_view(model_));
  }

  void stream_start() override {
    JsonWriter json;
    begin_message(json);
    json.key("content").begin_array().end_array().key("stop_reason").null();
    json.key("stop_sequence").null();
    write_anthropic_usage(json, {.prompt_tokens = prompt_tokens_});
    json.end_object();
    send_event("message_start", "\"message\":" + json.text());
  }

  void open_block(Kind kind, std::string_view content_block) {
    close_block();
    open_ = kind;
    send_event("content_block_start",
               fmt::format("\"index\":{},\"content_block\":{}", block_, content_block));
  }
  void close_block() {
    if (!open_) return;
    // The signature proves to the real service that it wrote the thought; clients want one.
    if (*open_ == Kind::kReasoning) send_delta(R"({"type":"signature_delta","signature":""})");
    send_event("content_block_stop", fmt::format("\"index\":{}", block_));
    open_ = std::nullopt;
    ++block_;
  }
  void send_delta(std::string_view delta) {
    send_event("content_block_delta", fmt::format("\"index\":{},\"delta\":{}", block_, delta));
  }

  void send_input(std::string_view piece) {
    send_delta(
        fmt::format(R"({{"type":"input_json_delta","partial_json":{}}})", json_quote(piece)));
  }

  void stream_part(size_t /*choice*/, const AnswerPart& part, const std::string& call_id) override {
    if (part.kind == Kind::kToolCall) {
      JsonWriter block;
      block.begin_object().member("type", "tool_use").member("id", std::string_view(call_id));
      block.member("name", std::string_view(part.call.name)).key("input").raw("{}").end_object();
      open_block(Kind::kToolCall, block.text());
      if (!part.call.arguments.empty()) send_input(part.call.arguments);
      return;
    }
    if (part.kind == Kind::kArguments) {
      send_input(part.text);
      return;
    }
    const bool thinking = part.kind == Kind::kReasoning;
    if (open_ != part.kind)
      open_block(part.kind, thinking ? R"({"type":"thinking","thinking":"","signature":""})"
                                     : R"({"type":"text","text":""})");
    send_delta(fmt::format(R"({{"type":"{}","{}":{}}})", thinking ? "thinking_delta" : "text_delta",
                           thinking ? "thinking" : "text", json_quote(part.text)));
  }

  void stream_end(size_t /*choice*/) override {
    close_block();
    const AnswerEnd& end = answers().front().end;
    JsonWriter json;
    json.begin_object().key("delta").begin_object();
    write_stop(json, end);
    json.end_object();
    write_anthropic_usage(json, end.cost);
    write_timings(json, end.cost);
    json.end_object();
    const std::string_view object = json.text();
    send_event("message_delta", object.substr(1, object.size() - 2));
  }
  void stream_finish() override { send_event("message_stop", ""); }

  static void write_stop(JsonWriter& json, const AnswerEnd& end) {
    json.member("stop_reason", anthropic_stop_reason(end.reason)).key("stop_sequence");
    if (end.reason == StopReason::kStopString) {
      json.value(std::string_view(end.stop_string));
    } else {
      json.null();
    }
  }

  std::string whole() override {
    const CollectedAnswer& answer = answers().front();
    JsonWriter json;
    begin_message(json);
    json.key("content").begin_array();
    if (!answer.reasoning.empty()) {
      json.begin_object().member("type", "thinking");
      json.member("thinking", std::string_view(answer.reasoning)).member("signature", "");
      json.end_object();
    }
    if (!answer.text.empty()) {
      json.begin_object().member("type", "text").member("text", std::string_view(answer.text));
      json.end_object();
    }
    for (const auto& [id, call] : answer.calls) {
      json.begin_object().member("type", "tool_use").member("id", std::string_view(id));
      json.member("name", std::string_view(call.name)).key("input");
      // Broken off by max_tokens they are no object, and `input` can be nothing else.
      json.raw(object_text(call.arguments).value_or("{}"));
      json.end_object();
    }
    json.end_array();
    write_stop(json, answer.end);
    write_anthropic_usage(json, answer.end.cost);
    write_timings(json, answer.end.cost);
    json.end_object();
    return json.take();
  }

  std::string model_;
  std::string id_;
  uint64_t prompt_tokens_;
  uint64_t block_ = 0;
  std::optional<Kind> open_;
};

}  // namespace

std::unique_ptr<Responder> make_messages_responder(std::shared_ptr<Exchange> exchange, bool streams,
                                                   std::string model, uint64_t prompt_tokens) {
  return std::make_unique<MessagesResponder>(std::move(exchange), streams, std::move(model),
                                             prompt_tokens);
}

}  // namespace smoe::server
