#include "cli/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <utility>

#include "base/json.h"
#include "cli/flag_value.h"
#include "cli/help.h"
#include "cli/suggestion.h"

namespace smoe::cli {
namespace {

constexpr int kManyArguments = 4096;

Error unknown_option(const Command& command, std::string_view given) {
  const std::string_view name = given.substr(0, given.find('='));
  std::vector<std::string> candidates;
  for (const Flag& flag : flags()) {
    const std::string spelled = fmt::format("--{}", flag.name);
    if (name == spelled)
      return {Code::kUsage, fmt::format("{} does not apply to smoe {}", name, command.name)};
    if (applies(flag, command)) candidates.push_back(spelled);
  }
  return {Code::kUsage, fmt::format("smoe {} has no option {}{}", command.name, name,
                                    suggestion(name, candidates))};
}

// A flag in CLI11's terms; null where the command does not take it.
struct Spelled {
  CLI::Option* option = nullptr;
  CLI::Option* negation = nullptr;
};

Spelled declare(CLI::App& app, const Flag& flag) {
  Spelled spelled;
  std::string names = fmt::format("--{}", flag.name);
  if (!flag.alias.empty()) names += fmt::format(",--{}", flag.alias);
  if (takes_value(flag)) {
    spelled.option = app.add_option(names)->expected(1)->allow_extra_args(false);
    spelled.option->multi_option_policy(is_list(flag) ? CLI::MultiOptionPolicy::TakeAll
                                                      : CLI::MultiOptionPolicy::TakeLast);
  } else {
    spelled.option = app.add_flag(names);
  }
  if (has_negation(flag)) spelled.negation = app.add_flag(fmt::format("--no-{}", flag.name));
  return spelled;
}

// "--top-k needs a value, N"; CLI11 begins its message with the option's name.
std::string mismatch(const Command& command, std::string_view message) {
  const std::string_view name = message.substr(0, message.find(':'));
  for (const Flag& flag : flags())
    if (takes_value(flag) &&
        (name == fmt::format("--{}", flag.name) || name == fmt::format("--{}", flag.alias)))
      return fmt::format("{} needs a value, {} ({})", name, value_name(flag), usage_line(command));
  return fmt::format("{} ({})", message, usage_line(command));
}

std::vector<std::string> values_of(const Spelled& spelled) {
  if (spelled.negation != nullptr && spelled.negation->count() > 0) return {"off"};
  if (spelled.option == nullptr || spelled.option->count() == 0) return {};
  // A switch is "true" to CLI11, and what stands behind its = otherwise.
  return spelled.option->results();
}

Status check_extras(const Command& command, std::vector<std::string> extras) {
  std::erase(extras, "--");  // CLI11 leaves the mark itself among them
  for (const std::string& extra : extras)
    if (extra.size() > 1 && extra.starts_with('-')) return unknown_option(command, extra);
  if (extras.empty()) return {};
  return Error{Code::kUsage, fmt::format("{} is one argument too many ({})",
                                         json_quote(extras.front()), usage_line(command))};
}

}  // namespace

bool applies(const Flag& flag, const Command& command) {
  return (flag.commands & set_of(command.id)) != 0;
}

Result<CommandLine> CommandLine::parse(const Command& command,
                                       std::span<const std::string> arguments) {
  CLI::App app;
  app.set_help_flag("-h,--help");
  app.allow_extras();
  std::vector<Spelled> spelled;
  for (const Flag& flag : flags())
    spelled.push_back(applies(flag, command) || flag.accepted_by_all ? declare(app, flag)
                                                                     : Spelled{});
  std::vector<CLI::Option*> positionals;
  for (const Argument& argument : command.arguments)
    positionals.push_back(app.add_option(std::string(argument.name))
                              ->expected(1, argument.repeats ? kManyArguments : 1));

  CommandLine line(command);
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::CallForHelp&) {
    line.help_ = true;
    return line;
  } catch (const CLI::ArgumentMismatch& error) {
    return Error{Code::kUsage, mismatch(command, error.what())};
  } catch (const CLI::ParseError& error) {
    return Error{Code::kUsage, fmt::format("{} ({})", error.what(), usage_line(command))};
  }
  SMOE_DO(check_extras(command, app.remaining()));

  for (const Spelled& each : spelled) line.values_.push_back(values_of(each));
  for (const CLI::Option* positional : positionals)
    if (positional->count() > 0) line.arguments_.push_back(positional->results());
  return line;
}

Status CommandLine::read_arguments(Settings& settings) const {
  for (size_t i = 0; i < command_->arguments.size(); ++i) {
    const Argument& argument = command_->arguments[i];
    if (i < arguments_.size()) {
      for (const std::string& text : arguments_[i]) argument.set(settings, text);
    } else if (argument.required) {
      return Error{Code::kUsage,
                   fmt::format("{} is missing ({})", argument.name, usage_line(*command_))};
    }
  }
  return {};
}

}  // namespace smoe::cli
