// The process environment, as a value: tests hand in another.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace smoe::cli {

// The value of a variable; nothing when it is unset.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

Environment process_environment();

}  // namespace smoe::cli
