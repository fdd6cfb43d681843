// Finds out in which form a chat template reads messages, by rendering a few.
#pragma once

#include "text/chat/messages.h"
#include "text/template/chat_template.h"

namespace smoe {

// The first form, plainest first, in which a message's text and the name of the function that an
// assistant calls reach the prompt; the plain form where none does. DeepSeek V3's template looks
// for calls only where content is null, and joins arguments to text; another reads parts alone.
// `constants` are the model's own variables (bos_token). Cost: a few renders of a short
// conversation.
MessageForm find_message_form(const ChatTemplate& source, const TemplateVariables& constants);

}  // namespace smoe
