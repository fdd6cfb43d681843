// Takes the arguments of one command apart. What the texts mean is decided elsewhere, because the
// environment and the config file must be read in the same way.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command_table.h"
#include "cli/flag_table.h"

namespace smoe::cli {

bool applies(const Flag& flag, const Command& command);

class CommandLine {
 public:
  // `arguments` are those after the command's name.  Fails: kUsage.
  static Result<CommandLine> parse(const Command& command, std::span<const std::string> arguments);

  bool asks_for_help() const { return help_; }
  // The texts given for a flag, by its index in flags(); none when it was not given.
  const std::vector<std::string>& values(size_t flag) const { return values_[flag]; }
  // Fails: kUsage when a required argument is missing.
  Status read_arguments(Settings& settings) const;

 private:
  explicit CommandLine(const Command& command) : command_(&command) {}

  const Command* command_;
  std::vector<std::vector<std::string>> values_;
  std::vector<std::vector<std::string>> arguments_;  // several texts where one repeats
  bool help_ = false;
};

}  // namespace smoe::cli
