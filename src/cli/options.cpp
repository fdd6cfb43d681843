#include "cli/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "base/json.h"
#include "cli/command_line.h"
#include "cli/command_table.h"
#include "cli/config_file.h"
#include "cli/flag_table.h"
#include "cli/flag_value.h"
#include "cli/help.h"
#include "cli/suggestion.h"
#include "cli/version.h"

namespace smoe::cli {
namespace {

// A list is given by repetition on the command line, between commas elsewhere.
std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> pieces;
  while (true) {
    const size_t comma = text.find(',');
    if (comma != 0 && !text.empty()) pieces.emplace_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return pieces;
    text.remove_prefix(comma + 1);
  }
}

Result<bool> from_environment(const Flag& flag, const Environment& environment,
                              Settings& settings) {
  for (const std::string_view name : {flag.name, flag.alias}) {
    if (name.empty()) continue;
    const std::string variable = environment_name(name);
    const auto value = environment(variable);
    if (!value || value->empty()) continue;
    if (!is_list(flag)) {
      SMOE_DO(apply(flag, *value, variable, settings));
      return true;
    }
    for (const std::string& piece : split_list(*value))
      SMOE_DO(apply(flag, piece, variable, settings));
    return true;
  }
  return false;
}

Status from_config(const Flag& flag, const std::vector<ConfigEntry>& config, Settings& settings) {
  for (const ConfigEntry& entry : config) {
    if (entry.key != flag.name && entry.key != flag.alias) continue;
    if (entry.values.size() != 1 && !is_list(flag))
      return Error{Code::kUsage, entry.where + " takes one value, not a list"};
    for (const std::string& value : entry.values)
      SMOE_DO(apply(flag, value, entry.where, settings));
  }
  return {};
}

// A key that no command knows is a typing error that would otherwise pass silently.
Status check_config_keys(const std::vector<ConfigEntry>& config) {
  std::vector<std::string> known;
  for (const Flag& flag : flags()) {
    if (flag.reach != Reach::kEverywhere) continue;
    known.emplace_back(flag.name);
    if (!flag.alias.empty()) known.emplace_back(flag.alias);
  }
  for (const ConfigEntry& entry : config)
    if (std::find(known.begin(), known.end(), entry.key) == known.end())
      return Error{Code::kUsage, fmt::format("{} is no option that can stand here{}", entry.where,
                                             suggestion(entry.key, known))};
  return {};
}

Result<std::vector<ConfigEntry>> load_config(const Environment& environment) {
  const auto path = config_path(environment);
  if (!path) return std::vector<ConfigEntry>{};
  SMOE_TRY(auto config, read_config(*path));
  SMOE_DO(check_config_keys(config));
  return config;
}

// Gives one flag its value from the first source that has one. Returns whether any had.
Result<bool> settle(size_t index, const CommandLine& line, const Environment& environment,
                    const std::vector<ConfigEntry>& config, Settings& settings) {
  const Flag& flag = flags()[index];
  const std::string spelled = fmt::format("--{}", flag.name);
  const std::vector<std::string>& given = line.values(index);
  for (const std::string& value : given) SMOE_DO(apply(flag, value, spelled, settings));
  if (!given.empty() || flag.reach != Reach::kEverywhere) return !given.empty();

  SMOE_TRY(const bool found, from_environment(flag, environment, settings));
  if (!found) SMOE_DO(from_config(flag, config, settings));
  return found;
}

Result<Request> settle_all(const Command& command, const CommandLine& line,
                           const Environment& environment) {
  Request request;
  request.settings.command = command.id;
  request.settings.notify_socket = environment("NOTIFY_SOCKET").value_or("");
  request.settings.state_folder = state_path(environment).value_or("").string();
  request.settings.cache_folder = cache_path(environment).value_or("").string();
  request.settings.editor = environment("VISUAL").value_or("");
  if (request.settings.editor.empty()) request.settings.editor = environment("EDITOR").value_or("");
  SMOE_DO(line.read_arguments(request.settings));
  SMOE_TRY(const auto config, load_config(environment));
  for (size_t i = 0; i < flags().size(); ++i) {
    const Flag& flag = flags()[i];
    if (!applies(flag, command)) {
      if (line.values(i).empty()) continue;
      request.warnings.push_back(
          fmt::format("--{} has no effect on smoe {}", flag.name, command.name));
      continue;
    }
    SMOE_TRY(const bool given, settle(i, line, environment, config, request.settings));
    if (!given && (flag.required_by & set_of(command.id)) != 0)
      return Error{Code::kUsage,
                   fmt::format("--{} is missing ({})", flag.name, usage_line(command))};
  }
  return request;
}

Error unknown_command(std::string_view given) {
  std::vector<std::string> names;
  for (const Command& command : commands()) names.emplace_back(command.name);
  if (given.starts_with('-'))
    return {
        Code::kUsage,
        fmt::format("the command comes first: smoe COMMAND {} (smoe --help lists them)", given)};
  return {Code::kUsage, fmt::format("smoe has no command {}{} (smoe --help lists them)",
                                    json_quote(given), suggestion(given, names))};
}

}  // namespace

Result<std::variant<Request, Answer>> parse_options(std::span<const std::string> arguments,
                                                    const Environment& environment) {
  using Parsed = std::variant<Request, Answer>;
  if (arguments.empty())
    return Error{Code::kUsage, "a command is missing (smoe --help lists them)"};
  const std::string& first = arguments.front();
  if (first == "--help" || first == "-h" || first == "help") return Parsed(Answer{general_help()});
  if (first == "--version") return Parsed(Answer{std::string(version_text())});

  const Command* command = command_named(first);
  if (command == nullptr) return unknown_command(first);
  SMOE_TRY(const CommandLine line, CommandLine::parse(*command, arguments.subspan(1)));
  if (line.asks_for_help()) return Parsed(Answer{command_help(*command)});
  SMOE_TRY(Request request, settle_all(*command, line, environment));
  return request;
}

bool wants_json(std::span<const std::string> arguments) {
  const auto end = std::find(arguments.begin(), arguments.end(), "--");
  return std::find(arguments.begin(), end, "--json") != end;
}

}  // namespace smoe::cli
