// The user's defaults: $XDG_CONFIG_HOME/smoe/config.toml, one key an option.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/environment.h"

namespace smoe::cli {

struct ConfigEntry {
  std::string key;
  std::vector<std::string> values;  // several only for an array
  std::string where;                // "FILE:LINE: KEY", for messages
};

// $XDG_CONFIG_HOME/smoe/config.toml, else $HOME/.config/smoe/config.toml; nothing without either.
std::optional<std::filesystem::path> config_path(const Environment& environment);
// $XDG_STATE_HOME/smoe, else ~/.local/state/smoe; nothing without a home.
std::optional<std::filesystem::path> state_path(const Environment& environment);
// $XDG_CACHE_HOME/smoe, else ~/.cache/smoe; nothing without a home.
std::optional<std::filesystem::path> cache_path(const Environment& environment);

// No entries when there is no such file.
// Fails: kUsage for what is no TOML or no value for an option (tables, dates), kIo; naming the
// file and the line.
Result<std::vector<ConfigEntry>> read_config(const std::filesystem::path& path);

}  // namespace smoe::cli
