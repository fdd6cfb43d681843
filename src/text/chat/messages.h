// Messages as clients send them, made into the one form that a chat template reads. Every way to a
// prompt goes through here: a template given by hand, a conversation, a request to a server.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace smoe {

// Where templates differ in what they read. message_form.h asks a template which it wants.
struct MessageForm {
  bool content_parts = false;   // content as a list of parts, never as a string
  bool null_content = false;    // no text beside tool calls is null, not ""
  bool text_arguments = false;  // the arguments of a tool call as JSON text, not as an object
  friend bool operator==(const MessageForm&, const MessageForm&) = default;
};

// The text of a message's content: null is "", the texts of an array's parts are joined. Parts are
// strings and objects of the type text, input_text or output_text. `where` stands in errors.
// Fails: kUnsupported for another type of part, with its name; kCorrupt for what is no content.
Result<std::string> content_text(const Json& content, std::string_view where);

// `variables` with each of its messages in `form`; everything else stays as it is, and numbers keep
// their text. Arguments of tool calls may come as an object or as JSON text; none at all are {},
// and text that is no object stays text. Fails: as content_text(); kCorrupt for messages that are
// none.
Result<Json> normalized_messages(const Json& variables, const MessageForm& form);

}  // namespace smoe
