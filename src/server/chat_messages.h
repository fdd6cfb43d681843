// Conversations of each API in the one form that chat templates read: OpenAI's messages, with
// content as a string, tool arguments as objects, and the thinking of earlier answers.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "server/api_error.h"

namespace smoe::server {

// A conversation as JSON text, ready to be a template's variables.
struct Conversation {
  std::string messages = "[]";
  std::string tools = {};    // "" for none
  std::string prefill = {};  // the answer has begun with this already
};

// `messages` and `tools` of /v1/chat/completions. Fails: 400 with the field's name.
ApiResult<Conversation> openai_conversation(const Json& body);
// `system`, `messages` and `tools` of /v1/messages. The line of a system text that changes with
// every call of one client is left out, or no prefix would ever be found again.
ApiResult<Conversation> anthropic_conversation(const Json& body);
// `instructions`, `input` and `tools` of /v1/responses.
ApiResult<Conversation> responses_conversation(const Json& body);

// A string, or the texts of an array of parts; null is "". Fails: 400, unsupported_content for
// images, audio and files.
ApiResult<std::string> content_text(const Json* content, const std::string& where);

}  // namespace smoe::server
