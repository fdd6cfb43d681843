// The texts of --help, made from the tables of commands and flags.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "cli/command_table.h"
#include "cli/flag_table.h"

namespace smoe::cli {

// What `smoe --help` prints: the commands.
std::string general_help();

// What `smoe COMMAND --help` prints: purpose, arguments, options with units and defaults, examples.
std::string command_help(const Command& command);

// One line, for the end of a usage error: "Usage: smoe run [OPTIONS] MODEL [PROMPT]".
std::string usage_line(const Command& command);

// What stands for a flag's value: "N", "auto|uring|pread|buffered"; "" when it takes none.
std::string value_name(const Flag& flag);

// Where the descriptions of a list begin, and where its lines end.
struct EntryShape {
  size_t indent = 27;
  size_t columns = 96;
};
// "  left side      what it does", broken between words; a left side that is too long stands on a
// line of its own.
void append_entry(std::string& out, std::string_view left, std::string_view text,
                  const EntryShape& shape = {});

}  // namespace smoe::cli
