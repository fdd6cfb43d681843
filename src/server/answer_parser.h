// From the text of a model to an answer: what it thinks, what it says, which tools it calls.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "server/tool_calls/call_stream.h"
#include "server/tool_calls/tool_format.h"
#include "text/chat/reasoning.h"

namespace smoe::server {

struct AnswerPart {
  // kArguments: a piece of those of the last call, behind the ones that it came with.
  enum class Kind : uint8_t { kText, kReasoning, kToolCall, kArguments };
  Kind kind = Kind::kText;
  std::string text = {};
  ToolCall call = {};
  friend bool operator==(const AnswerPart&, const AnswerPart&) = default;
};

// The parts do not depend on how the text is cut into pieces, but for where their own texts are
// cut. A call is told as soon as its function is known and its arguments begin; what follows is its
// arguments, however they end. Text that begins like a call and is none comes out as text. Blanks
// around calls, and what stands between their arguments and their end mark, are nothing.
class AnswerParser {
 public:
  struct Options {
    const ToolFormat* format = nullptr;  // nullptr: no calls are looked for
    Json tools = {};                     // of the request
    ReasoningMarks marks = {};
    bool split_reasoning = false;
    bool starts_thinking = false;
  };
  explicit AnswerParser(Options options);

  // What is certain after this piece.
  std::vector<AnswerPart> push(std::string_view piece);
  // What was held back at the end.
  std::vector<AnswerPart> finish();
  // What came last was a thought.
  bool thinking() const { return thinking_; }

 private:
  void take(std::vector<ReasoningSplitter::Part> parts, std::vector<AnswerPart>& out);
  void scan(std::vector<AnswerPart>& out, bool at_end);
  bool scan_text(std::vector<AnswerPart>& out, bool at_end);
  bool scan_call(std::vector<AnswerPart>& out, bool at_end);
  bool scan_arguments(std::vector<AnswerPart>& out, bool at_end);
  bool scan_behind_call(bool at_end);
  void say(std::string_view text, std::vector<AnswerPart>& out);

  Options options_;
  std::optional<ReasoningSplitter> splitter_;
  std::string held_;
  std::string blanks_;       // before the call that is being read
  std::string_view opened_;  // the mark of that call
  bool in_call_ = false;
  std::optional<CallArguments> arguments_;  // of the call that is being told
  bool behind_call_ = false;                // they are told, their end mark is not read
  bool after_call_ = false;
  bool thinking_ = false;
};

}  // namespace smoe::server
