// A call while it is being written: its arguments as JSON text, piece by piece.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"
#include "server/tool_calls/tool_format.h"

namespace smoe::server {

// How far a call has come whose beginning is `text`, and which is written as its format has it.
CallHead json_call_head(std::string_view text);
CallHead xml_call_head(std::string_view text);
CallHead pair_call_head(std::string_view text);
CallHead deepseek_call_head(std::string_view text);
CallHead channel_call_head(std::string_view text);

// The arguments of one call. The pieces do not depend on how the text is cut, but for where they
// are cut themselves. Together they are a JSON object, when the model has written one to its end.
class CallArguments {
 public:
  // `format` and `tools` outlive it.
  CallArguments(const ToolFormat& format, const Json& tools, std::string_view function);

  // Takes what is certain off the front of `held`, and returns it as JSON. `at_end`: nothing more
  // will come.
  std::string take(std::string& held, bool at_end);
  // What follows in the text is no part of the arguments.
  bool ended() const { return state_ == State::kEnded; }

 private:
  enum class State : uint8_t { kObject, kBetween, kText, kValue, kEnded };
  std::string take_object(std::string& held);
  // One step of arguments that are pairs; false when there is nothing more to do now.
  bool take_pair(std::string& held, bool at_end, std::string& out);
  bool begin_pair(std::string& held, bool at_end, std::string& out);
  bool take_text(std::string& held, bool at_end, std::string& out);
  bool take_value(std::string& held, std::string& out);

  const ToolFormat& format_;
  const Json* properties_ = nullptr;  // of the function's parameters
  State state_;
  // Of an object.
  uint32_t depth_ = 0;
  bool in_string_ = false;
  bool escaped_ = false;
  // Of pairs.
  bool first_pair_ = true;
  bool value_begun_ = false;
  const Json* schema_ = nullptr;  // of the parameter whose value is being written
};

}  // namespace smoe::server
