// The commands: names, arguments, and what --help says about each.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>

#include "cli/settings.h"

namespace smoe::cli {

// An argument without a name.
struct Argument {
  std::string_view name;  // "MODEL"
  std::string_view help;
  void (*set)(Settings& settings, std::string value);
  bool required = true;
  bool repeats = false;  // takes all that come; the last of its command
};

struct Example {
  std::string_view line;
  std::string_view why;  // a phrase
};

struct Command {
  CommandId id;
  std::string_view name;
  std::string_view purpose;  // one line, for the list of commands
  std::string_view details;  // for its own help
  std::span<const Argument> arguments;
  std::span<const Example> examples;
};

// In the order of CommandId.
std::span<const Command> commands();

const Command& command_of(CommandId id);
const Command* command_named(std::string_view name);  // nullptr when there is none

}  // namespace smoe::cli
