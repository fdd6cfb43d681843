// A real terminal for tests: tmux runs a program, types keys, and shows what is on the screen.
#pragma once

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "support/process.h"

namespace smoe::test {

class Tmux {
 public:
  // `socket`: a path of its own for each test.
  Tmux(std::string socket, const std::vector<std::string>& command,
       const std::vector<std::pair<std::string, std::string>>& environment = {})
      : socket_(std::move(socket)) {
    // libedit never frees the name and the help text of a function that was added to it.
    std::vector<std::string> words{"new-session", "-d", "-x", "80",
                                   "-y",          "24", "-e", "ASAN_OPTIONS=detect_leaks=0"};
    for (const auto& [name, value] : environment) {
      words.emplace_back("-e");
      words.push_back(name + "=" + value);
    }
    // The pane stays after the program, so that its last words can be read.
    // A Ctrl-C is meant for it alone, not for the shell that shows its status.
    std::string line = "trap : INT; ";
    for (const std::string& word : command) line += "'" + word + "' ";
    words.push_back(line + "; echo \"[status $?]\"; exec sleep 1000");
    call(words);
  }
  ~Tmux() { call({"kill-server"}); }
  Tmux(const Tmux&) = delete;
  Tmux& operator=(const Tmux&) = delete;

  // Keys as tmux names them ("Enter", "C-c"), or text.
  void keys(const std::vector<std::string>& names) {
    std::vector<std::string> words{"send-keys"};
    words.insert(words.end(), names.begin(), names.end());
    call(words);
  }
  void type(const std::string& text) { call({"send-keys", "-l", text}); }
  void line(const std::string& text) {
    type(text);
    keys({"Enter"});
  }
  void resize(int columns, int rows) {
    call({"resize-window", "-x", std::to_string(columns), "-y", std::to_string(rows)});
  }
  // Everything that was shown, with lines that the width broke joined again; with {"-e"} also its
  // colours.
  std::string screen(const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{"capture-pane", "-p", "-J", "-S", "-2000"};
    words.insert(words.end(), more.begin(), more.end());
    return call(words);
  }
  static size_t count(const std::string& text, const std::string& part) {
    size_t found = 0;
    for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++found;
    return found;
  }
  // Waits until `text` was shown so many times; false after a minute.
  bool shows(const std::string& text, size_t times = 1) {
    for (int i = 0; i < 1200; ++i) {
      if (count(screen(), text) >= times) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return false;
  }

 private:
  std::string call(const std::vector<std::string>& words) {
    std::vector<std::string> command{"/usr/bin/tmux", "-u", "-f", "/dev/null", "-S", socket_};
    command.insert(command.end(), words.begin(), words.end());
    ProcessOptions options;
    options.environment = {{"TERM", "xterm-256color"}, {"LC_ALL", "C.UTF-8"}, {"SHELL", "/bin/sh"}};
    return run_process(command, options).out;
  }

  std::string socket_;
};

}  // namespace smoe::test
