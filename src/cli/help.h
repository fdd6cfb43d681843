// The texts of --help, made from the tables of commands and flags.
#pragma once

#include <string>

#include "cli/command_table.h"

namespace smoe::cli {

// What `smoe --help` prints: the commands.
std::string general_help();

// What `smoe COMMAND --help` prints: purpose, arguments, options with units and defaults, examples.
std::string command_help(const Command& command);

// One line, for the end of a usage error: "Usage: smoe run [OPTIONS] MODEL [PROMPT]".
std::string usage_line(const Command& command);

}  // namespace smoe::cli
