// The pieces that OpenAI's answers are made of.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "server/responder.h"

namespace smoe::server {

std::string_view openai_finish_reason(StopReason reason);

// {"prompt_tokens", "completion_tokens", "total_tokens", and the details of both}
void write_openai_usage(JsonWriter& json, const AnswerCost& cost);
// Members "timings" (as llama-server has them), "experts" and "limited_by" of the object that is
// being written.
void write_timings(JsonWriter& json, const AnswerCost& cost);
// {"content":[{"token","logprob","bytes","top_logprobs"}]}
void write_chat_logprobs(JsonWriter& json, const std::vector<TokenLogprob>& list);
// {"tokens","token_logprobs","top_logprobs","text_offset"}; `offset` is where the first one begins.
void write_legacy_logprobs(JsonWriter& json, const std::vector<TokenLogprob>& list, size_t offset);
// {"id","type","function":{"name","arguments"}}
void write_tool_call_object(JsonWriter& json, std::string_view id, const ToolCall& call,
                            std::string_view arguments);

// "data: …\n\n"
std::string data_event(std::string_view json);
uint64_t unix_seconds();

}  // namespace smoe::server
