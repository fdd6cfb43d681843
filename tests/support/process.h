// Runs a program as a shell would, and keeps what it says on stdout and stderr apart.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

namespace smoe::test {

struct ProcessOptions {
  std::string input;                                             // stdin, then end of file
  std::vector<std::pair<std::string, std::string>> environment;  // beside PATH; nothing inherited
  bool keep_stdin_open = false;  // no end of file until close_input()
  std::string output_file;       // stdout goes there instead of into a string
};

struct ProcessResult {
  int status = -1;  // exit status, 128 + the signal's number when killed by one
  std::string out;
  std::string err;
};

class Process {
 public:
  Process(const std::vector<std::string>& command, const ProcessOptions& options);
  ~Process();  // kills what still runs
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  void signal(int number) const;
  void close_input();
  // Takes the reading end of stdout away, as `head` does when it has enough.
  void close_output();
  // Reads stderr until it holds `text`; false when it ends without.
  bool wait_for_error_text(const std::string& text);
  // Reads everything and waits for the end.
  ProcessResult wait();

 private:
  void read_until_end(const std::string& until);

  pid_t child_ = -1;
  int input_ = -1;
  int output_ = -1;
  int error_ = -1;
  ProcessResult result_;
};

ProcessResult run_process(const std::vector<std::string>& command,
                          const ProcessOptions& options = {});

}  // namespace smoe::test
