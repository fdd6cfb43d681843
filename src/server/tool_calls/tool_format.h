// How a model spells the calls of tools in its text, by the chat template it was trained with.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "text/grammar/rules.h"

namespace smoe::server {

struct ToolCall {
  std::string name;
  std::string arguments;  // JSON text, an object
  friend bool operator==(const ToolCall&, const ToolCall&) = default;
};

// The calls between two marks; nothing when the text is none of this format. `tools` is the array
// of the request: formats without types take those of the parameters from there.
using ToolCallReader = std::optional<std::vector<ToolCall>> (*)(std::string_view text,
                                                                const Json& tools);

// The beginning of a call: its function, and where its arguments begin.
struct CallHead {
  // kOpen: more text has to come to tell. kOther: it is written in another way, and is read when it
  // is complete.
  enum class State : uint8_t { kOpen, kFound, kOther };
  State state = State::kOpen;
  std::string name = {};
  size_t bytes = 0;  // of the text before the arguments
};
using CallHeadReader = CallHead (*)(std::string_view text);

// Arguments that are pairs instead of an object.
struct CallPairs {
  std::string_view before_name;
  std::string_view behind_name;
  std::string_view before_value;
  std::string_view behind_value;
  std::string_view end;  // behind the last one
};

// What a model writes between the marks to call a function whose arguments follow `parameters`, a
// JSON schema (server/tool_calls/call_grammar.h).
struct CallSpelling;
using ToolCallSpeller = Expression (*)(GrammarRules& rules, const CallSpelling& spelling,
                                       std::string_view name, const Json& parameters);

// One row of the table of formats.
struct ToolFormat {
  std::string_view name;
  std::string_view sign;                       // what the templates of this format contain
  std::string_view open;                       // marks around the calls
  std::string_view close;                      // may be a stop token, and so be missing
  std::span<const std::string_view> silent{};  // marks that are no part of an answer
  // The other way to open a call, or "".
  std::string_view other_open = {};
  std::string_view again = {};  // begins another call before the end mark; "": there is one
  ToolCallReader read = nullptr;
  CallHeadReader head = nullptr;
  const CallPairs* pairs = nullptr;  // nullptr: the arguments are an object
  ToolCallSpeller spell = nullptr;
};

std::span<const ToolFormat> tool_formats();

// The format of a chat template; nullptr when it knows no tools that we can read.
const ToolFormat* tool_format_of(std::string_view template_source);

// All chat templates of a model folder or GGUF file as one text, to look for signs in; "" when it
// has none.
std::string template_sources(const std::filesystem::path& model);

}  // namespace smoe::server
