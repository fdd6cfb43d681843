#include "server/responses_responder.h"

#include <fmt/format.h>

#include <optional>
#include <utility>
#include <vector>

#include "server/ids.h"
#include "server/openai_wire.h"

namespace smoe::server {
namespace {

using Kind = AnswerPart::Kind;

// One item of `output`.
struct OutputItem {
  Kind kind = Kind::kText;
  std::string id;
  std::string text;
  std::string call_id = {};
  ToolCall call = {};
};

std::string text_part(Kind kind, std::string_view text) {
  if (kind == Kind::kReasoning)
    return fmt::format(R"({{"type":"reasoning_text","text":{}}})", json_quote(text));
  return fmt::format(R"({{"type":"output_text","text":{},"annotations":[],"logprobs":[]}})",
                     json_quote(text));
}

// As it stands when it begins (without content) or when it is complete.
std::string item_json(const OutputItem& item, bool complete) {
  JsonWriter json;
  json.begin_object().member("id", std::string_view(item.id));
  const std::string_view status = complete ? "completed" : "in_progress";
  if (item.kind == Kind::kToolCall) {
    json.member("type", "function_call").member("status", status);
    json.member("call_id", std::string_view(item.call_id));
    json.member("name", std::string_view(item.call.name));
    json.member("arguments", std::string_view(complete ? item.call.arguments : ""));
    json.end_object();
    return json.take();
  }
  if (item.kind == Kind::kReasoning) {
    json.member("type", "reasoning").key("summary").begin_array().end_array();
  } else {
    json.member("type", "message").member("role", "assistant");
  }
  json.member("status", status).key("content").begin_array();
  if (complete) json.raw(text_part(item.kind, item.text));
  json.end_array().end_object();
  return json.take();
}

class ResponsesResponder final : public Responder {
 public:
  ResponsesResponder(std::shared_ptr<Exchange> exchange, bool streams, ResponsesStyle style)
      : Responder(std::move(exchange), streams, 1),
        style_(std::move(style)),
        id_(random_id("resp_")),
        created_(unix_seconds()) {}

 private:
  // `members` is the rest of the event's object.
  std::string event(std::string_view type, std::string_view members) {
    return fmt::format("event: {0}\ndata: {{\"type\":\"{0}\",\"sequence_number\":{1},{2}}}\n\n",
                       type, sequence_++, members);
  }
  void send_event(std::string_view type, std::string_view members) { send(event(type, members)); }

  std::string response_json(std::string_view status, const ApiError* error) const {
    JsonWriter json;
    json.begin_object().member("id", std::string_view(id_)).member("object", "response");
    json.member("created_at", created_).member("status", status);
    json.member("model", std::string_view(style_.model)).key("output").begin_array();
    const bool ended = status != "in_progress";
    for (const OutputItem& item : items_)
      if (ended) json.raw(item_json(item, true));
    json.end_array().key("error");
    if (error != nullptr) {
      json.begin_object().member("code", error_type(error->status, ApiStyle::kOpenAi));
      json.member("message", std::string_view(error->message)).end_object();
    } else {
      json.null();
    }
    json.key("incomplete_details");
    if (status == "incomplete") {
      json.begin_object().member("reason", "max_output_tokens").end_object();
    } else {
      json.null();
    }
    json.member("parallel_tool_calls", true).key("previous_response_id").null();
    json.member("store", false).key("usage");
    if (ended && error == nullptr) {
      write_response_usage(json, answers().front().end.cost);
      write_timings(json, answers().front().end.cost);
    } else {
      json.null();
    }
    json.end_object();
    std::string text = json.take();
    if (!style_.echoed.empty()) text.insert(text.size() - 1, "," + style_.echoed);
    return text;
  }

  static void write_response_usage(JsonWriter& json, const AnswerCost& cost) {
    json.begin_object().member("input_tokens", cost.prompt_tokens);
    json.key("input_tokens_details").begin_object();
    json.member("cached_tokens", cost.cached_tokens).end_object();
    json.member("output_tokens", cost.completion_tokens);
    json.key("output_tokens_details").begin_object();
    json.member("reasoning_tokens", cost.reasoning_tokens).end_object();
    json.member("total_tokens", cost.prompt_tokens + cost.completion_tokens).end_object();
  }

  std::string_view final_status() const {
    return answers().front().end.reason == StopReason::kLength ? "incomplete" : "completed";
  }

  std::string where(bool with_content) const {
    return fmt::format("\"item_id\":\"{}\",\"output_index\":{}{}", items_.back().id,
                       items_.size() - 1, with_content ? ",\"content_index\":0" : "");
  }

  void stream_start() override {
    const std::string response = "\"response\":" + response_json("in_progress", nullptr);
    send_event("response.created", response);
    send_event("response.in_progress", response);
  }

  void open_item(OutputItem item) {
    close_item();
    items_.push_back(std::move(item));
    open_ = true;
    send_event("response.output_item.added",
               fmt::format("\"output_index\":{},\"item\":{}", items_.size() - 1,
                           item_json(items_.back(), false)));
    if (items_.back().kind != Kind::kToolCall)
      send_event("response.content_part.added",
                 fmt::format("{},\"part\":{}", where(true), text_part(items_.back().kind, "")));
  }

  void close_item() {
    if (!open_) return;
    open_ = false;
    const OutputItem& item = items_.back();
    if (item.kind == Kind::kToolCall) {
      send_event("response.function_call_arguments.done",
                 fmt::format("{},\"name\":{},\"arguments\":{}", where(false),
                             json_quote(item.call.name), json_quote(item.call.arguments)));
    } else {
      const bool thinking = item.kind == Kind::kReasoning;
      send_event(thinking ? "response.reasoning_text.done" : "response.output_text.done",
                 fmt::format("{},\"text\":{}{}", where(true), json_quote(item.text),
                             thinking ? "" : ",\"logprobs\":[]"));
      send_event("response.content_part.done",
                 fmt::format("{},\"part\":{}", where(true), text_part(item.kind, item.text)));
    }
    send_event("response.output_item.done", fmt::format("\"output_index\":{},\"item\":{}",
                                                        items_.size() - 1, item_json(item, true)));
  }

  void send_arguments(std::string_view piece) {
    items_.back().call.arguments += piece;
    send_event("response.function_call_arguments.delta",
               fmt::format("{},\"delta\":{}", where(false), json_quote(piece)));
  }

  void stream_part(size_t /*choice*/, const AnswerPart& part, const std::string& call_id) override {
    if (part.kind == Kind::kToolCall) {
      open_item({Kind::kToolCall, random_id("fc_"), "", call_id, {part.call.name, ""}});
      if (!part.call.arguments.empty()) send_arguments(part.call.arguments);
      return;
    }
    if (part.kind == Kind::kArguments) {
      send_arguments(part.text);
      return;
    }
    const bool thinking = part.kind == Kind::kReasoning;
    if (!open_ || items_.back().kind != part.kind)
      open_item({part.kind, random_id(thinking ? "rs_" : "msg_"), ""});
    items_.back().text += part.text;
    send_event(thinking ? "response.reasoning_text.delta" : "response.output_text.delta",
               fmt::format("{},\"delta\":{}{}", where(true), json_quote(part.text),
                           thinking ? "" : ",\"logprobs\":[]"));
  }

  void stream_end(size_t /*choice*/) override { close_item(); }
  void stream_finish() override {
    send_event(fmt::format("response.{}", final_status()),
               "\"response\":" + response_json(final_status(), nullptr));
  }
  std::string error_event(const ApiError& error) const override {
    return fmt::format(
        "event: response.failed\ndata: {{\"type\":\"response.failed\",\"sequence_number\":{},"
        "\"response\":{}}}\n\n",
        sequence_, response_json("failed", &error));
  }

  std::string whole() override {
    const CollectedAnswer& answer = answers().front();
    if (!answer.reasoning.empty())
      items_.push_back({Kind::kReasoning, random_id("rs_"), answer.reasoning});
    if (!answer.text.empty() || answer.calls.empty())
      items_.push_back({Kind::kText, random_id("msg_"), answer.text});
    for (const auto& [id, call] : answer.calls)
      items_.push_back({Kind::kToolCall, random_id("fc_"), "", id, call});
    return response_json(final_status(), nullptr);
  }

  ResponsesStyle style_;
  std::string id_;
  uint64_t created_;
  uint64_t sequence_ = 0;
  std::vector<OutputItem> items_;
  bool open_ = false;  // the last item is not complete
};

}  // namespace

std::unique_ptr<Responder> make_responses_responder(std::shared_ptr<Exchange> exchange,
                                                    bool streams, ResponsesStyle style) {
  return std::make_unique<ResponsesResponder>(std::move(exchange), streams, std::move(style));
}

}  // namespace smoe::server
