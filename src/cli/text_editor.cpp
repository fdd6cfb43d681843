#include "cli/text_editor.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/file.h"
#include "base/units.h"

namespace smoe::cli {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxText = 64 * kMiB;

// A file that only its owner can read, removed at the end.
class TemporaryFile {
 public:
  TemporaryFile() : path_((fs::temp_directory_path() / "smoe-XXXXXX").string()) {
    descriptor_ = ::mkstemp(path_.data());
  }
  ~TemporaryFile() {
    if (descriptor_ < 0) return;
    ::close(descriptor_);
    ::unlink(path_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  bool write(std::string_view text) const {
    return descriptor_ >= 0 &&
           ::write(descriptor_, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  int descriptor_ = -1;
};

// Between fork and exec: an editor wants the signals that this program blocks.
[[noreturn]] void become_editor(const std::string& line, const char* path) {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);  // stdout may be a pipe that wants answers only
  ::execl("/bin/sh", "sh", "-c", line.c_str(), "smoe", path, nullptr);
  _exit(127);
}

// The shell's line: a command with its arguments, or the name of one program in whose path there
// are spaces.
std::string editor_line(std::string command) {
  const size_t first = command.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) return "";
  command = command.substr(first, command.find_last_not_of(" \t\r\n") - first + 1);
  if (command.find('/') != std::string::npos && ::access(command.c_str(), X_OK) == 0) {
    std::string quoted = "'";
    for (const char c : command) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    command = quoted + "'";
  }
  return command + " \"$1\"";
}

}  // namespace

Result<std::string> edit_text(const std::string& command, std::string_view text) {
  const std::string line = editor_line(command);
  if (line.empty())
    return Error{Code::kUsage, "no editor: set EDITOR, for instance to nano, and start again"};
  const TemporaryFile file;
  if (!file.write(text))
    return Error{Code::kIo, fmt::format("{}: cannot write: {}", file.path(),
                                        std::generic_category().message(errno))};
  const pid_t child = ::fork();
  if (child == 0) become_editor(line, file.path().c_str());
  int state = 0;
  while (child > 0 && ::waitpid(child, &state, 0) < 0 && errno == EINTR) {
  }
  if (child < 0 || !WIFEXITED(state) || WEXITSTATUS(state) != 0)
    return Error{Code::kIo, command + ": the editor failed; nothing was taken over"};
  SMOE_TRY(std::string edited, read_text_file(file.path(), kMaxText));
  if (edited.ends_with('\n')) edited.pop_back();
  return edited;
}

}  // namespace smoe::cli
