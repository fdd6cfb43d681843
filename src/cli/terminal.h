// What people and pipes see: stdout has the answer, stderr everything else.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/environment.h"

namespace smoe::cli {

struct TerminalOptions {
  bool quiet = false;
  bool json = false;
};

class Terminal {
 public:
  // Looks once at what the streams are. NO_COLOR and TERM=dumb turn colours off; CLICOLOR_FORCE
  // turns them on wherever the text goes, unless NO_COLOR says otherwise.
  explicit Terminal(const Environment& environment);

  void set(const TerminalOptions& options) { options_ = options; }

  // The answer, written at once. After the reader has gone this does nothing and is no error: see
  // broken_pipe().  Fails: kIo, kNoSpace (stdout is a file on a full disk).
  Status print(std::string_view text);
  bool broken_pipe() const { return broken_pipe_; }

  // "smoe: error: ..." on stderr; with --json also {"error":{"code","message"}} on stdout.
  void print_error(const Error& error);
  // "smoe: warning: ..." on stderr, unless --quiet.
  void print_warning(std::string_view text) const;
  // Text for people on stderr (tables of numbers, a bar); failures to write it are ignored.
  void print_note(std::string_view text) const;

  bool shows_progress() const { return stderr_is_terminal_ && !dumb_ && !options_.quiet; }
  bool stdout_is_terminal() const { return stdout_is_terminal_; }
  bool stdin_is_terminal() const { return stdin_is_terminal_; }
  bool colors() const { return colors_; }  // on stderr
  bool answer_colors() const { return answer_colors_; }
  bool json() const { return options_.json; }
  // Of stderr; 80 when it is no terminal.
  size_t columns() const;

 private:
  TerminalOptions options_;
  bool stdin_is_terminal_ = false;
  bool stdout_is_terminal_ = false;
  bool stderr_is_terminal_ = false;
  bool dumb_ = false;
  bool colors_ = false;
  bool answer_colors_ = false;
  bool broken_pipe_ = false;
};

}  // namespace smoe::cli
