// One reader for each way to spell a call; tool_format.h says what they return.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "server/tool_calls/tool_format.h"

namespace smoe::server {

using ToolCalls = std::optional<std::vector<ToolCall>>;

// {"name": "f", "arguments": {...}}, or "parameters"; also several in an array.
ToolCalls read_json_calls(std::string_view text, const Json& tools);
// <function=f><parameter=p>value</parameter></function>
ToolCalls read_xml_calls(std::string_view text, const Json& tools);
// f<arg_key>p</arg_key><arg_value>value</arg_value>
ToolCalls read_pair_calls(std::string_view text, const Json& tools);
// function<sep>f ```json {...}```, or f<sep>{...}, each between begin and end marks
ToolCalls read_deepseek_calls(std::string_view text, const Json& tools);
// f <|constrain|>json<|message|>{...}
ToolCalls read_channel_calls(std::string_view text, const Json& tools);

// The `properties` of the parameters of a function; nullptr when they are not known.
const Json* properties_of(const Json& tools, std::string_view function);
// A value without quotes as JSON: what its schema calls a string is one, everything else is JSON
// where it can be. The line breaks next to its marks belong to them. `schema` may be nullptr.
std::string bare_value_json(const Json* schema, std::string_view value);

std::string_view trimmed(std::string_view text);
// JSON text of an object, as the client gets it; nothing when it is none.
std::optional<std::string> object_text(std::string_view text);
// Collects name-value pairs whose values have no quotes.
class PairWriter {
 public:
  PairWriter(const Json& tools, std::string_view function);
  void add(std::string_view parameter, std::string_view value);
  std::string take();

 private:
  const Json* properties_ = nullptr;
  JsonWriter json_;
};

}  // namespace smoe::server
