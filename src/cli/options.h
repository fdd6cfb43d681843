// From the command line, the environment and the config file to Settings.
#pragma once

#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "cli/environment.h"
#include "cli/settings.h"

namespace smoe::cli {

struct Request {
  Settings settings;
  std::vector<std::string> warnings;  // options that this command accepts and ignores
};

// --help or --version: nothing else is looked at.
struct Answer {
  std::string text;
};

// `arguments` without the program's name. A flag beats the environment, that beats the config
// file.  Fails: kUsage, naming the option as it was spelled and what would do; kIo for a config
// file that cannot be read.
Result<std::variant<Request, Answer>> parse_options(std::span<const std::string> arguments,
                                                    const Environment& environment);

// Whether the error of a failed parse should be JSON: --json stands among the arguments.
bool wants_json(std::span<const std::string> arguments);

}  // namespace smoe::cli
