// One line from the person at the terminal: editing, history, an editor for long texts (libedit).
#pragma once

#include <deque>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/signals.h"

namespace smoe::cli {

struct LineEditorOptions {
  std::filesystem::path history_file;  // empty: history is kept in memory only
  std::string editor;                  // command of Ctrl-G, as $VISUAL or $EDITOR has it
};

// Prompt and echo go to stderr. Lifetime: ends before the signals. Threads: one.
class LineEditor {
 public:
  enum class Event : uint8_t {
    kLine,
    kEnd,        // Ctrl-D on an empty line, or the terminal has gone
    kInterrupt,  // Ctrl-C or SIGTERM; what was typed is dropped
    kTooLong,    // of a pipe: more than a context holds; the rest of the line was not read
  };
  struct Line {
    Event event = Event::kEnd;
    std::string text;  // without its newline; several lines when it comes from the editor
  };

  // Fails: kIo when the terminal cannot be used. A history file that cannot be read or written is
  // no failure: history_error() says why.
  static Result<std::unique_ptr<LineEditor>> open(LineEditorOptions options, Signals& signals);
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  Line read(std::string_view prompt);
  // Puts `text` into the history, also that of later runs.
  void remember(std::string_view text);
  const std::optional<Error>& history_error() const { return history_error_; }

 private:
  struct Impl;
  LineEditor(LineEditorOptions options, Signals& signals);
  void load_history();

  LineEditorOptions options_;
  std::optional<Error> history_error_;
  std::unique_ptr<Impl> impl_;
};

// History entries, one a line: a newline is written \n and a backslash \\.
std::string escape_history(std::string_view text);
std::string unescape_history(std::string_view line);

}  // namespace smoe::cli
