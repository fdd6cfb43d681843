// A conversation of a request as the prompt of a model.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/token.h"
#include "server/api_error.h"
#include "server/chat_messages.h"
#include "server/fields.h"
#include "server/served_model.h"

namespace smoe::server {

struct ChatWishes {
  std::optional<bool> think = {};     // enable_thinking, for templates that know it
  std::string reasoning_effort = {};  // likewise
  const Json* variables = nullptr;    // chat_template_kwargs: further variables of the template
};

struct RenderedChat {
  std::string text;
  std::vector<TokenId> tokens;
  bool starts_thinking = false;  // the template has opened a thought
};

// enable_thinking of a request's chat_template_kwargs, and reasoning_effort "none".
ChatWishes read_chat_wishes(Fields& fields);

// Fails: 400 when the model has no chat template or its template refuses the conversation.
ApiResult<RenderedChat> render_chat(const ServedModel& model, const Conversation& conversation,
                                    const ChatWishes& wishes);

}  // namespace smoe::server
