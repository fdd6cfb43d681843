// Answers of /v1/chat/completions and /v1/completions.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "server/responder.h"

namespace smoe::server {

struct OpenAiStyle {
  std::string model;
  bool include_usage = false;    // one more chunk with the usage, and "usage": null in all others
  bool return_progress = false;  // chunks that say how far the prompt is
  bool logprobs = false;
  size_t choices_per_prompt = 1;
  std::string reasoning_field = "reasoning_content";
  std::string echo = {};  // /v1/completions: stands before the text
};

std::unique_ptr<Responder> make_chat_responder(std::shared_ptr<Exchange> exchange, bool streams,
                                               size_t choices, OpenAiStyle style);
std::unique_ptr<Responder> make_completion_responder(std::shared_ptr<Exchange> exchange,
                                                     bool streams, size_t choices,
                                                     OpenAiStyle style);

}  // namespace smoe::server
