// Text that a command reads: a file, any pipe, or stdin.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "cli/signals.h"

namespace smoe::cli {

struct Input {
  std::string text;
  std::string name;  // for messages: the file's, or "stdin"
};

// Everything in `file`, or in stdin without one. Ctrl-C ends the program while this waits.
// Fails: kNotFound, kIo, kCorrupt when it is larger than 1 GiB.
Result<Input> read_input(const std::optional<std::string>& file, Signals& signals);

}  // namespace smoe::cli
