#include "server/openai_wire.h"

#include <fmt/format.h>

#include <chrono>

namespace smoe::server {
namespace {

void write_chance(JsonWriter& json, const TokenChance& chance) {
  json.member("token", std::string_view(chance.text)).key("logprob");
  if (chance.logprob) {
    json.value(*chance.logprob);
  } else {
    json.null();
  }
  json.key("bytes").begin_array();
  for (const char byte : chance.text) json.value(uint32_t{static_cast<uint8_t>(byte)});
  json.end_array();
}

double per_second(uint64_t count, double milliseconds) {
  return milliseconds > 0 ? static_cast<double>(count) * 1000 / milliseconds : 0;
}

double per_token(uint64_t count, double milliseconds) {
  return count > 0 ? milliseconds / static_cast<double>(count) : 0;
}

}  // namespace

std::string_view openai_finish_reason(StopReason reason) {
  switch (reason) {
    case StopReason::kEnd:
    case StopReason::kStopString:
      return "stop";
    case StopReason::kLength:
      return "length";
    case StopReason::kToolCalls:
      return "tool_calls";
  }
  return "stop";
}

void write_openai_usage(JsonWriter& json, const AnswerCost& cost) {
  json.begin_object();
  json.member("prompt_tokens", cost.prompt_tokens);
  json.member("completion_tokens", cost.completion_tokens);
  json.member("total_tokens", cost.prompt_tokens + cost.completion_tokens);
  json.key("prompt_tokens_details").begin_object();
  json.member("cached_tokens", cost.cached_tokens).end_object();
  json.key("completion_tokens_details").begin_object();
  json.member("reasoning_tokens", cost.reasoning_tokens).end_object();
  json.end_object();
}

void write_timings(JsonWriter& json, const AnswerCost& cost) {
  const uint64_t computed = cost.prompt_tokens - std::min(cost.cached_tokens, cost.prompt_tokens);
  json.key("timings").begin_object();
  json.member("queue_ms", cost.queue_ms);
  json.member("cache_n", cost.cached_tokens);
  json.member("prompt_n", computed).member("prompt_ms", cost.prompt_ms);
  json.member("prompt_per_token_ms", per_token(computed, cost.prompt_ms));
  json.member("prompt_per_second", per_second(computed, cost.prompt_ms));
  json.member("predicted_n", cost.completion_tokens).member("predicted_ms", cost.predicted_ms);
  json.member("predicted_per_token_ms", per_token(cost.completion_tokens, cost.predicted_ms));
  json.member("predicted_per_second", per_second(cost.completion_tokens, cost.predicted_ms));
  json.end_object();
  json.key("experts").begin_object();
  json.member("hits", cost.expert_hits).member("misses", cost.expert_misses);
  json.member("bytes_read", cost.expert_bytes_read).member("stall_ms", cost.expert_stall_ms);
  json.end_object();
  json.member("limited_by", name_of(cost.limited_by));
}

void write_chat_logprobs(JsonWriter& json, const std::vector<TokenLogprob>& list) {
  json.begin_object().key("content").begin_array();
  for (const TokenLogprob& entry : list) {
    json.begin_object();
    write_chance(json, entry.chosen);
    json.key("top_logprobs").begin_array();
    for (const TokenChance& chance : entry.top) {
      json.begin_object();
      write_chance(json, chance);
      json.end_object();
    }
    json.end_array().end_object();
  }
  json.end_array().key("refusal").null().end_object();
}

void write_legacy_logprobs(JsonWriter& json, const std::vector<TokenLogprob>& list, size_t offset) {
  const auto write_logprob = [&](const TokenChance& chance) {
    if (chance.logprob) {
      json.value(*chance.logprob);
    } else {
      json.null();
    }
  };
  json.begin_object().key("tokens").begin_array();
  for (const TokenLogprob& entry : list) json.value(std::string_view(entry.chosen.text));
  json.end_array().key("token_logprobs").begin_array();
  for (const TokenLogprob& entry : list) write_logprob(entry.chosen);
  json.end_array().key("top_logprobs").begin_array();
  for (const TokenLogprob& entry : list) {
    json.begin_object();
    for (const TokenChance& chance : entry.top) {
      json.key(chance.text);
      write_logprob(chance);
    }
    json.end_object();
  }
  json.end_array().key("text_offset").begin_array();
  for (const TokenLogprob& entry : list) {
    json.value(uint64_t{offset});
    offset += entry.chosen.text.size();
  }
  json.end_array().end_object();
}

void write_tool_call_object(JsonWriter& json, std::string_view id, const ToolCall& call,
                            std::string_view arguments) {
  json.member("id", id).member("type", "function").key("function").begin_object();
  json.member("name", std::string_view(call.name)).member("arguments", arguments).end_object();
}

std::string data_event(std::string_view json) { return fmt::format("data: {}\n\n", json); }

uint64_t unix_seconds() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(
                                   std::chrono::system_clock::now().time_since_epoch())
                                   .count());
}

}  // namespace smoe::server
