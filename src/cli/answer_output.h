// Where an answer goes: to the terminal piece by piece, or into the JSON at the end.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/commands.h"
#include "engine/engine.h"
#include "text/chat/reasoning.h"

namespace smoe::cli {

// Thinking is shown dimmed on a terminal and left out of pipes and files. When nobody reads any
// more, the engine is told to stop.
class AnswerOutput {
 public:
  // Without a splitter all text is answer.
  AnswerOutput(Context& context, Engine& engine, std::optional<ReasoningSplitter> splitter)
      : context_(context), engine_(engine), splitter_(std::move(splitter)) {}

  void add(std::string_view piece);
  // The shell's prompt should begin a line of its own. Fails: as Terminal::print did.
  Status end();

  const std::string& text() const { return text_; }
  const std::string& thinking() const { return thinking_; }

 private:
  void take(bool thinking, std::string_view text);
  void show(bool thinking, std::string_view text);
  void print(std::string_view text);

  Context& context_;
  Engine& engine_;
  std::optional<ReasoningSplitter> splitter_;
  Status status_;
  std::string text_;
  std::string thinking_;
  bool dimmed_ = false;
  bool ends_line_ = true;
};

}  // namespace smoe::cli
