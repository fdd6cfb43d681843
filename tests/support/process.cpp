#include "support/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

namespace smoe::test {
namespace {

struct Pipe {
  int read_end = -1;
  int write_end = -1;
};

Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) std::abort();
  return {ends[0], ends[1]};
}

void close_end(int& descriptor) {
  if (descriptor >= 0) ::close(descriptor);
  descriptor = -1;
}

// Between fork and exec.
[[noreturn]] void become(const std::vector<std::string>& command, const ProcessOptions& options,
                         const Pipe& in, const Pipe& out, const Pipe& err) {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  ::dup2(in.read_end, STDIN_FILENO);
  ::dup2(err.write_end, STDERR_FILENO);
  int target = out.write_end;
  if (!options.output_file.empty())
    target = ::open(options.output_file.c_str(), O_WRONLY | O_CREAT, 0666);
  ::dup2(target, STDOUT_FILENO);

  std::vector<std::string> variables{"PATH=/usr/bin:/bin"};
  for (const auto& [name, value] : options.environment) variables.push_back(name + "=" + value);
  std::vector<char*> environment;
  for (std::string& variable : variables) environment.push_back(variable.data());
  environment.push_back(nullptr);
  std::vector<std::string> words = command;
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execve(arguments[0], arguments.data(), environment.data());
  _exit(127);
}

// Appends what is there; false at the end.
bool drain(int descriptor, std::string& text) {
  std::array<char, 16384> buffer{};
  const ssize_t got = ::read(descriptor, buffer.data(), buffer.size());
  if (got <= 0) return false;
  text.append(buffer.data(), static_cast<size_t>(got));
  return true;
}

}  // namespace

Process::Process(const std::vector<std::string>& command, const ProcessOptions& options) {
  Pipe in = make_pipe();
  Pipe out = make_pipe();
  Pipe err = make_pipe();
  child_ = ::fork();
  if (child_ == 0) become(command, options, in, out, err);
  close_end(in.read_end);
  close_end(out.write_end);
  close_end(err.write_end);
  input_ = in.write_end;
  output_ = out.read_end;
  error_ = err.read_end;

  // Inputs of tests fit into a pipe (64 KiB), so this does not block; a child that reads nothing
  // must not kill the test.
  ::signal(SIGPIPE, SIG_IGN);
  if (!options.input.empty() && ::write(input_, options.input.data(), options.input.size()) < 0)
    close_input();
  if (!options.keep_stdin_open) close_input();
}

Process::~Process() {
  if (child_ > 0) {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }
  close_end(input_);
  close_end(output_);
  close_end(error_);
}

void Process::signal(int number) const { ::kill(child_, number); }
void Process::close_input() { close_end(input_); }
void Process::close_output() { close_end(output_); }

void Process::read_until_end(const std::string& until) {
  while (output_ >= 0 || error_ >= 0) {
    if (!until.empty() && result_.err.find(until) != std::string::npos) return;
    std::array<pollfd, 2> watched{{{output_, POLLIN, 0}, {error_, POLLIN, 0}}};
    ::poll(watched.data(), watched.size(), -1);
    if (watched[0].revents != 0 && !drain(output_, result_.out)) close_end(output_);
    if (watched[1].revents != 0 && !drain(error_, result_.err)) close_end(error_);
  }
}

bool Process::wait_for_error_text(const std::string& text) {
  read_until_end(text);
  return result_.err.find(text) != std::string::npos;
}

ProcessResult Process::wait() {
  read_until_end("");
  int state = 0;
  ::waitpid(child_, &state, 0);
  child_ = -1;
  result_.status = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
  return result_;
}

ProcessResult run_process(const std::vector<std::string>& command, const ProcessOptions& options) {
  return Process(command, options).wait();
}

}  // namespace smoe::test
