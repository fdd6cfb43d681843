#include "cli/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "base/json.h"

namespace smoe::cli {
namespace {

// Writes all of `text`; the error number, 0 when it went out.
int write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return 0;
}

// An error is one line, whatever a file name in it may hold.
std::string one_line(std::string_view text) {
  std::string line(text);
  std::replace_if(
      line.begin(), line.end(),
      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
  return line;
}

}  // namespace

Terminal::Terminal(const Environment& environment)
    : stdin_is_terminal_(::isatty(STDIN_FILENO) == 1),
      stdout_is_terminal_(::isatty(STDOUT_FILENO) == 1),
      stderr_is_terminal_(::isatty(STDERR_FILENO) == 1),
      dumb_(environment("TERM").value_or("dumb") == "dumb") {
  const bool unwanted = !environment("NO_COLOR").value_or("").empty();
  const std::string force = environment("CLICOLOR_FORCE").value_or("");
  const bool forced = !force.empty() && force != "0";
  const auto wanted_on = [&](bool is_terminal) {
    return !unwanted && (forced || (is_terminal && !dumb_));
  };
  colors_ = wanted_on(stderr_is_terminal_);
  answer_colors_ = wanted_on(stdout_is_terminal_);
}

Status Terminal::print(std::string_view text) {
  if (broken_pipe_) return {};
  const int error = write_all(STDOUT_FILENO, text);
  if (error == EPIPE) {
    broken_pipe_ = true;
    return {};
  }
  if (error == 0) return {};
  return Error{error == ENOSPC ? Code::kNoSpace : Code::kIo,
               fmt::format("stdout: cannot write: {}", std::generic_category().message(error))};
}

void Terminal::print_error(const Error& error) {
  const std::string message = one_line(error.message);
  print_note(colors_ ? fmt::format("smoe: \x1b[1;31merror:\x1b[0m {}\n", message)
                     : fmt::format("smoe: error: {}\n", message));
  if (!options_.json) return;
  JsonWriter json;
  json.begin_object().key("error").begin_object();
  json.member("code", name_of(error.code)).member("message", std::string_view(message));
  json.end_object().end_object();
  // The error has been told on stderr; a stdout that takes nothing adds no second one.
  static_cast<void>(print(json.take() + "\n"));
}

void Terminal::print_warning(std::string_view text) const {
  if (!options_.quiet) print_note(fmt::format("smoe: warning: {}\n", one_line(text)));
}

void Terminal::print_note(std::string_view text) const {
  static_cast<void>(write_all(STDERR_FILENO, text));
}

size_t Terminal::columns() const {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

}  // namespace smoe::cli
