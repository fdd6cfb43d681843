#include "server/openai_responder.h"

#include <utility>

#include "server/ids.h"
#include "server/openai_wire.h"

namespace smoe::server {
namespace {

using Kind = AnswerPart::Kind;

// What both kinds of completion have in common: an envelope around their choices.
class CompletionResponder : public Responder {
 public:
  CompletionResponder(std::shared_ptr<Exchange> exchange, bool streams, size_t choices,
                      OpenAiStyle style, std::string_view id_prefix)
      : Responder(std::move(exchange), streams, choices),
        style_(std::move(style)),
        id_(random_id(id_prefix)),
        created_(unix_seconds()) {}

 protected:
  void begin(JsonWriter& json, std::string_view object) const {
    json.begin_object().member("id", std::string_view(id_)).member("object", object);
    json.member("created", created_).member("model", std::string_view(style_.model));
    json.key("choices").begin_array();
  }
  // Behind the choices of a chunk.
  void send_chunk(JsonWriter& json) {
    json.end_array();
    if (style_.include_usage) json.key("usage").null();
    json.end_object();
    send(data_event(json.text()));
  }
  void send_finish(std::string_view object) {
    const AnswerCost cost = total_cost(answers(), style_.choices_per_prompt);
    if (style_.include_usage) {
      JsonWriter json;
      begin(json, object);
      json.end_array().key("usage");
      write_openai_usage(json, cost);
      write_timings(json, cost);
      json.end_object();
      send(data_event(json.text()));
    }
    send("data: [DONE]\n\n");
  }
  void write_cost(JsonWriter& json) const {
    const AnswerCost cost = total_cost(answers(), style_.choices_per_prompt);
    json.key("usage");
    write_openai_usage(json, cost);
    write_timings(json, cost);
  }
  void stream_progress(const PromptStatus& progress) override {
    if (!style_.return_progress) return;
    JsonWriter json;
    begin(json, chunk_object());
    json.end_array();
    if (style_.include_usage) json.key("usage").null();
    json.key("prompt_progress").begin_object();
    json.member("total", progress.total).member("cache", progress.cached);
    json.member("processed", progress.processed).member("time_ms", progress.time_ms);
    json.end_object().end_object();
    send(data_event(json.text()));
  }
  void stream_finish() override { send_finish(chunk_object()); }
  virtual std::string_view chunk_object() const = 0;
  const OpenAiStyle& wanted() const { return style_; }

 private:
  OpenAiStyle style_;
  std::string id_;
  uint64_t created_;
};

class ChatResponder final : public CompletionResponder {
 public:
  ChatResponder(std::shared_ptr<Exchange> exchange, bool streams, size_t choices, OpenAiStyle style)
      : CompletionResponder(std::move(exchange), streams, choices, std::move(style), "chatcmpl-"),
        calls_(choices) {}

 private:
  std::string_view chunk_object() const override { return "chat.completion.chunk"; }

  template <class WriteDelta>
  void send_delta(size_t choice, const WriteDelta& write_delta) {
    JsonWriter json;
    begin(json, chunk_object());
    json.begin_object().member("index", uint64_t{choice}).key("delta").begin_object();
    write_delta(json);
    json.end_object().key("logprobs").null().key("finish_reason").null().end_object();
    send_chunk(json);
  }

  void stream_start() override {
    for (size_t choice = 0; choice < answers().size(); ++choice)
      send_delta(choice,
                 [](JsonWriter& json) { json.member("role", "assistant").member("content", ""); });
  }

  void stream_part(size_t choice, const AnswerPart& part, const std::string& call_id) override {
    if (part.kind == Kind::kToolCall) {
      send_call(choice, part.call, call_id);
      return;
    }
    if (part.kind == Kind::kArguments) {
      send_arguments(choice, part.text);
      return;
    }
    send_delta(choice, [&](JsonWriter& json) {
      const std::string_view field =
          part.kind == Kind::kText ? "content" : std::string_view(wanted().reasoning_field);
      json.member(field, std::string_view(part.text));
    });
  }

  // The first delta of a call names it, later ones bring arguments.
  void send_call(size_t choice, const ToolCall& call, const std::string& id) {
    const uint64_t index = calls_[choice]++;
    send_delta(choice, [&](JsonWriter& json) {
      json.key("tool_calls").begin_array().begin_object().member("index", index);
      write_tool_call_object(json, id, call, "");
      json.end_object().end_array();
    });
    if (!call.arguments.empty()) send_arguments(choice, call.arguments);
  }

  void send_arguments(size_t choice, std::string_view piece) {
    send_delta(choice, [&](JsonWriter& json) {
      json.key("tool_calls").begin_array().begin_object().member("index", calls_[choice] - 1);
      json.key("function").begin_object().member("arguments", piece).end_object();
      json.end_object().end_array();
    });
  }

  // Probabilities belong to tokens and text comes when it is certain, so they have chunks of their
  // own.
  void stream_logprobs(size_t choice, const std::vector<TokenLogprob>& list) override {
    if (!wanted().logprobs) return;
    JsonWriter json;
    begin(json, chunk_object());
    json.begin_object().member("index", uint64_t{choice}).key("delta").begin_object().end_object();
    json.key("logprobs");
    write_chat_logprobs(json, list);
    json.key("finish_reason").null().end_object();
    send_chunk(json);
  }

  void stream_end(size_t choice) override {
    JsonWriter json;
    begin(json, chunk_object());
    json.begin_object().member("index", uint64_t{choice}).key("delta").begin_object().end_object();
    json.key("logprobs").null();
    json.member("finish_reason", openai_finish_reason(answers()[choice].end.reason)).end_object();
    send_chunk(json);
  }

  std::string whole() override {
    JsonWriter json;
    begin(json, "chat.completion");
    for (size_t choice = 0; choice < answers().size(); ++choice) write_choice(json, choice);
    json.end_array();
    write_cost(json);
    json.end_object();
    return json.take();
  }

  void write_choice(JsonWriter& json, size_t choice) const {
    const CollectedAnswer& answer = answers()[choice];
    json.begin_object().member("index", uint64_t{choice}).key("message").begin_object();
    json.member("role", "assistant").key("content");
    if (answer.text.empty() && !answer.calls.empty()) {
      json.null();
    } else {
      json.value(std::string_view(answer.text));
    }
    if (!answer.reasoning.empty())
      json.member(wanted().reasoning_field, std::string_view(answer.reasoning));
    json.key("refusal").null();
    if (!answer.calls.empty()) {
      json.key("tool_calls").begin_array();
      for (const auto& [id, call] : answer.calls) {
        json.begin_object();
        write_tool_call_object(json, id, call, call.arguments);
        json.end_object();
      }
      json.end_array();
    }
    json.end_object().key("logprobs");
    if (wanted().logprobs) {
      write_chat_logprobs(json, answer.logprobs);
    } else {
      json.null();
    }
    json.member("finish_reason", openai_finish_reason(answer.end.reason)).end_object();
  }

  std::vector<uint64_t> calls_;  // of each choice, so far
};

class TextResponder final : public CompletionResponder {
 public:
  TextResponder(std::shared_ptr<Exchange> exchange, bool streams, size_t choices, OpenAiStyle style)
      : CompletionResponder(std::move(exchange), streams, choices, std::move(style), "cmpl-"),
        offsets_(choices, wanted().echo.size()) {}

 private:
  std::string_view chunk_object() const override { return "text_completion"; }

  void send_text(size_t choice, std::string_view text, const std::vector<TokenLogprob>* logprobs,
                 std::optional<StopReason> reason) {
    JsonWriter json;
    begin(json, chunk_object());
    json.begin_object().member("index", uint64_t{choice}).member("text", text).key("logprobs");
    if (logprobs != nullptr) {
      write_legacy_logprobs(json, *logprobs, offsets_[choice]);
      for (const TokenLogprob& entry : *logprobs) offsets_[choice] += entry.chosen.text.size();
    } else {
      json.null();
    }
    json.key("finish_reason");
    if (reason) {
      json.value(openai_finish_reason(*reason));
    } else {
      json.null();
    }
    json.end_object();
    send_chunk(json);
  }

  void stream_start() override {
    if (wanted().echo.empty()) return;
    for (size_t choice = 0; choice < answers().size(); ++choice)
      send_text(choice, wanted().echo, nullptr, std::nullopt);
  }
  void stream_part(size_t choice, const AnswerPart& part, const std::string& /*id*/) override {
    send_text(choice, part.text, nullptr, std::nullopt);
  }
  void stream_logprobs(size_t choice, const std::vector<TokenLogprob>& list) override {
    if (wanted().logprobs) send_text(choice, "", &list, std::nullopt);
  }
  void stream_end(size_t choice) override {
    send_text(choice, "", nullptr, answers()[choice].end.reason);
  }

  std::string whole() override {
    JsonWriter json;
    begin(json, "text_completion");
    for (size_t choice = 0; choice < answers().size(); ++choice) {
      const CollectedAnswer& answer = answers()[choice];
      json.begin_object().member("index", uint64_t{choice});
      json.member("text", std::string_view(wanted().echo + answer.text)).key("logprobs");
      if (wanted().logprobs) {
        write_legacy_logprobs(json, answer.logprobs, wanted().echo.size());
      } else {
        json.null();
      }
      json.member("finish_reason", openai_finish_reason(answer.end.reason)).end_object();
    }
    json.end_array();
    write_cost(json);
    json.end_object();
    return json.take();
  }

  std::vector<size_t> offsets_;  // of each choice's next token in its text
};

}  // namespace

std::unique_ptr<Responder> make_chat_responder(std::shared_ptr<Exchange> exchange, bool streams,
                                               size_t choices, OpenAiStyle style) {
  return std::make_unique<ChatResponder>(std::move(exchange), streams, choices, std::move(style));
}

std::unique_ptr<Responder> make_completion_responder(std::shared_ptr<Exchange> exchange,
                                                     bool streams, size_t choices,
                                                     OpenAiStyle style) {
  return std::make_unique<TextResponder>(std::move(exchange), streams, choices, std::move(style));
}

}  // namespace smoe::server
