// Every option of the command line, once: parsing, help, environment names and config keys all
// come from this table.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cli/settings.h"

namespace smoe::cli {

// A set of commands, one bit each.
using CommandSet = uint32_t;
constexpr CommandSet set_of(CommandId command) {
  return static_cast<CommandSet>(1U << static_cast<unsigned>(command));
}
inline constexpr CommandSet kEveryCommand = (1U << kCommands) - 1U;

// --name alone; 1/true/on/enabled or 0/false/off/disabled in the environment.
struct SwitchField {
  bool Settings::*member;
};
// A switch whose default depends on something: --name or --no-name.
struct OptionalSwitchField {
  std::optional<bool> Settings::*member;
};
// --name on|off, also --no-name.
struct ToggleField {
  bool Settings::*member;
};
struct CountField {
  std::optional<uint64_t> Settings::*member;
  uint64_t least;
  uint64_t most;
};
struct DefaultedCountField {
  uint64_t Settings::*member;
  uint64_t least;
  uint64_t most;
};
struct RealField {
  std::optional<double> Settings::*member;
  double least;
  double most;
};
struct BytesField {
  std::optional<uint64_t> Settings::*member;
};
struct TextField {
  std::optional<std::string> Settings::*member;
};
struct ListField {
  std::vector<std::string> Settings::*member;
};
struct TokensField {
  std::vector<TokenId> Settings::*member;
};
struct ChoiceField {
  std::span<const std::string_view> words;
  void (*choose)(Settings& settings, size_t index);
};
using Field =
    std::variant<SwitchField, OptionalSwitchField, ToggleField, CountField, DefaultedCountField,
                 RealField, BytesField, TextField, ListField, TokensField, ChoiceField>;

enum class Group : uint8_t { kCommand, kGeneration, kEngine, kOutput };
inline constexpr size_t kGroups = 4;

enum class Reach : uint8_t {
  kEverywhere,   // flag, environment, config file
  kCommandLine,  // says what one call does; a default for it would only surprise
};

struct Flag {
  std::string_view name;        // "top-k": --top-k, SMOE_TOP_K, top-k = ... in config.toml
  std::string_view alias = {};  // a second spelling, with all that
  std::string_view value = {};  // what stands for the value in help; empty for switches and choices
  Group group = Group::kCommand;
  CommandSet commands = 0;  // those that it means something to
  Field field;
  std::string_view help;         // a phrase
  std::string_view fallback{};   // the default, for help
  CommandSet required_by = 0;    // commands that do not run without it
  bool accepted_by_all = false;  // the other commands ignore it, with a warning
  Reach reach = Reach::kEverywhere;
};

std::span<const Flag> flags();

// "SMOE_TOP_K"
std::string environment_name(std::string_view flag_name);

}  // namespace smoe::cli
