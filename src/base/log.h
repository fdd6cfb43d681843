// The log: one line an event on stderr, and if asked to a file or as JSON lines. Prompt text and
// keys are never logged at info level. Threads: any. set_up is called once, before other threads
// exist.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "base/result.h"

namespace smoe::log {

enum class Level { kDebug, kInfo, kWarn, kError, kOff };

struct Options {
  Level level = Level::kInfo;
  std::string file = {};  // also appended here when not empty
  bool json = false;      // one JSON object a line: time, level, message
};

// Fails: kIo when the log file cannot be opened.
Status set_up(const Options& options);

bool enabled(Level level);
void write(Level level, std::string_view message);

template <class... Args>
void debug(fmt::format_string<Args...> format, Args&&... args) {
  if (enabled(Level::kDebug))
    write(Level::kDebug, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void info(fmt::format_string<Args...> format, Args&&... args) {
  if (enabled(Level::kInfo)) write(Level::kInfo, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void warn(fmt::format_string<Args...> format, Args&&... args) {
  if (enabled(Level::kWarn)) write(Level::kWarn, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void error(fmt::format_string<Args...> format, Args&&... args) {
  if (enabled(Level::kError))
    write(Level::kError, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace smoe::log
