#include "server/responder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "server/anthropic_responder.h"
#include "server/openai_responder.h"
#include "server/responses_responder.h"

namespace smoe::server {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using Part = AnswerPart;

// Keeps what a client would get.
struct Received {
  HttpResponse head;
  std::string stream;
  bool ended = false;

  // The data of the events, without the mark of the end.
  std::vector<json> events() const {
    std::vector<json> all;
    for (size_t at = stream.find("data: "); at != std::string::npos;
         at = stream.find("data: ", at + 1)) {
      const std::string text = stream.substr(at + 6, stream.find("\n\n", at) - at - 6);
      if (text != "[DONE]") all.push_back(json::parse(text));
    }
    return all;
  }
};

class ReceivingExchange final : public Exchange {
 public:
  explicit ReceivingExchange(Received& received) : received_(received) {}
  const HttpRequest& request() const override { return request_; }
  void respond(HttpResponse response) override {
    received_.head = std::move(response);
    received_.ended = true;
  }
  void begin_stream(HttpResponse head, std::string /*keepalive*/) override {
    received_.head = std::move(head);
  }
  bool write(std::string_view piece) override {
    received_.stream += piece;
    return true;
  }
  void end() override { received_.ended = true; }
  void on_disconnect(std::function<void()> /*callback*/) override {}

 private:
  Received& received_;
  HttpRequest request_;
};

// An answer that thinks, speaks and calls two tools.
void answer(Responder& responder) {
  responder.start();
  responder.add(0, {{Part::Kind::kReasoning, "h", {}}}, {});
  responder.add(0, {{Part::Kind::kReasoning, "m", {}}, {Part::Kind::kText, "I look", {}}}, {});
  responder.add(0, {{Part::Kind::kToolCall, "", {"f", R"({"a":1})"}}}, {});
  responder.add(0, {{Part::Kind::kToolCall, "", {"g", "{}"}}}, {});
  responder.end(0, {.reason = StopReason::kEnd, .stop_string = "", .cost = {.prompt_tokens = 7}});
  responder.finish();
}

template <class Make>
Received received(bool streams, const Make& make, const ApiError* error = nullptr) {
  Received result;
  const std::unique_ptr<Responder> responder =
      make(std::make_shared<ReceivingExchange>(result), streams);
  if (error != nullptr) {
    responder->start();
    responder->add(0, {{Part::Kind::kText, "so", {}}}, {});
    responder->fail(*error);
  } else {
    answer(*responder);
  }
  EXPECT_TRUE(result.ended);
  return result;
}

std::unique_ptr<Responder> chat(std::shared_ptr<Exchange> exchange, bool streams) {
  return make_chat_responder(std::move(exchange), streams, 1, {.model = "m"});
}
std::unique_ptr<Responder> anthropic(std::shared_ptr<Exchange> exchange, bool streams) {
  return make_messages_responder(std::move(exchange), streams, "m", 7);
}
std::unique_ptr<Responder> stateless(std::shared_ptr<Exchange> exchange, bool streams) {
  return make_responses_responder(std::move(exchange), streams, {"m", "\"tools\":[]"});
}

// Trap 15: an id once, indices from 0, and the same reason as without a stream.
TEST(ChatResponder, StreamsCallsAsOpenAiDoes) {
  json deltas = json::array();
  std::string reason;
  for (const json& event : received(true, chat).events()) {
    const json& choice = event["choices"][0];
    if (choice["delta"].contains("tool_calls"))
      for (const json& call : choice["delta"]["tool_calls"]) deltas.push_back(call);
    if (!choice["finish_reason"].is_null()) reason = choice["finish_reason"];
  }
  ASSERT_EQ(deltas.size(), 4U);
  EXPECT_EQ(deltas[0]["index"], 0);
  EXPECT_EQ(deltas[0]["type"], "function");
  EXPECT_THAT(deltas[0]["id"].get<std::string>(), testing::StartsWith("call_"));
  EXPECT_EQ(deltas[0]["function"], (json{{"name", "f"}, {"arguments", ""}}));
  EXPECT_EQ(deltas[1], (json{{"index", 0}, {"function", {{"arguments", R"({"a":1})"}}}}));
  EXPECT_EQ(deltas[2]["index"], 1);
  EXPECT_NE(deltas[2]["id"], deltas[0]["id"]);
  EXPECT_EQ(deltas[3], (json{{"index", 1}, {"function", {{"arguments", "{}"}}}}));
  EXPECT_EQ(reason, "tool_calls");
}

TEST(ChatResponder, AnswersInOnePieceWithTheSameParts) {
  const json body = json::parse(received(false, chat).head.body);
  const json& message = body["choices"][0]["message"];
  EXPECT_EQ(message["content"], "I look");
  EXPECT_EQ(message["reasoning_content"], "hm");
  EXPECT_EQ(message["tool_calls"][1]["function"]["name"], "g");
  EXPECT_EQ(body["choices"][0]["finish_reason"], "tool_calls");
  EXPECT_EQ(body["usage"]["prompt_tokens"], 7);
}

TEST(MessagesResponder, StreamsABlockForEachPart) {
  std::vector<std::string> kinds;
  json last;
  for (const json& event : received(true, anthropic).events()) {
    const std::string type = event["type"];
    if (type == "content_block_start") kinds.push_back(event["content_block"]["type"]);
    if (type == "content_block_delta") kinds.push_back(event["delta"]["type"]);
    if (type == "message_delta") last = event;
  }
  EXPECT_THAT(kinds, ElementsAre("thinking", "thinking_delta", "thinking_delta", "signature_delta",
                                 "text", "text_delta", "tool_use", "input_json_delta", "tool_use",
                                 "input_json_delta"));
  EXPECT_EQ(last["delta"]["stop_reason"], "tool_use");
}

TEST(MessagesResponder, AnswersInOnePieceWithTheSameParts) {
  const json body = json::parse(received(false, anthropic).head.body);
  ASSERT_EQ(body["content"].size(), 4U);
  EXPECT_EQ(body["content"][2]["input"], (json{{"a", 1}}));
  EXPECT_EQ(body["stop_reason"], "tool_use");
}

TEST(ResponsesResponder, StreamsAnItemForEachPart) {
  std::vector<std::string> items;
  size_t number = 0;
  for (const json& event : received(true, stateless).events()) {
    EXPECT_EQ(event["sequence_number"], number++);
    if (event["type"] == "response.output_item.done") items.push_back(event["item"]["type"]);
    if (event["type"] == "response.function_call_arguments.done")
      items.push_back(event["arguments"]);
  }
  EXPECT_THAT(items, ElementsAre("reasoning", "message", R"({"a":1})", "function_call", "{}",
                                 "function_call"));
}

// An error after the head belongs into the stream, in the form that each client throws.
TEST(Responders, TellOfAnErrorInTheMiddle) {
  const ApiError error{.status = 500, .message = "layer 3, expert 7"};
  const Received openai = received(true, chat, &error);
  EXPECT_EQ(openai.events().back()["error"]["type"], "server_error");
  EXPECT_EQ(openai.stream.find("[DONE]"), std::string::npos);
  EXPECT_EQ(received(true, anthropic, &error).events().back()["error"]["type"], "api_error");
  EXPECT_EQ(received(true, stateless, &error).events().back()["response"]["error"]["message"],
            "layer 3, expert 7");
  EXPECT_EQ(received(false, chat, &error).head.status, 500U);
}

TEST(Responders, RefuseWithAStatusWhatHasNotBegun) {
  Received result;
  const auto responder = chat(std::make_shared<ReceivingExchange>(result), true);
  responder->fail({.status = 429, .message = "full"});
  EXPECT_EQ(result.head.status, 429U);
  EXPECT_TRUE(result.stream.empty());
}

}  // namespace
}  // namespace smoe::server
