#include "cli/help.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

#include "cli/flag_table.h"
#include "cli/flag_value.h"

namespace smoe::cli {
namespace {

// Appends words, broken into lines that are indented by shape.indent; the first line has as many
// characters already.
void append_wrapped(std::string& out, std::string_view text, const EntryShape& shape) {
  size_t column = shape.indent;
  bool first = true;
  while (!text.empty()) {
    const size_t space = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, space);
    if (!first && column + 1 + word.size() > shape.columns) {
      out += '\n';
      out.append(shape.indent, ' ');
      column = shape.indent;
    } else if (!first) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
    first = false;
    text.remove_prefix(std::min(space + 1, text.size()));
  }
  out += '\n';
}

std::string left_side(const Flag& flag) {
  const std::string value = value_name(flag);
  return value.empty() ? fmt::format("--{}", flag.name) : fmt::format("--{} {}", flag.name, value);
}

std::string description(const Flag& flag) {
  std::string text(flag.help);
  if (!flag.alias.empty()) text += fmt::format("; also --{}", flag.alias);
  if (!flag.fallback.empty()) text += fmt::format(" (default: {})", flag.fallback);
  return text;
}

std::string_view title_of(Group group) {
  constexpr std::array<std::string_view, kGroups> kTitles{"Options", "Generation", "Engine",
                                                          "Output"};
  return kTitles[static_cast<size_t>(group)];
}

void append_group(std::string& out, Group group, const Command& command) {
  bool any = false;
  for (const Flag& flag : flags()) {
    if (flag.group != group || (flag.commands & set_of(command.id)) == 0) continue;
    if (!any) out += fmt::format("\n{}:\n", title_of(group));
    any = true;
    std::string text = description(flag);
    if ((flag.required_by & set_of(command.id)) != 0) text += " (required)";
    append_entry(out, left_side(flag), text);
  }
  if (group != Group::kOutput) return;
  append_entry(out, "-h, --help", "print this");
}

}  // namespace

std::string value_name(const Flag& flag) {
  if (const auto* choice = std::get_if<ChoiceField>(&flag.field))
    return fmt::format("{}", fmt::join(choice->words, "|"));
  return std::string(flag.value);
}

void append_entry(std::string& out, std::string_view left, std::string_view text,
                  const EntryShape& shape) {
  out += "  ";
  out += left;
  size_t column = 2 + left.size();
  if (column + 1 > shape.indent) {
    out += '\n';
    column = 0;
  }
  out.append(shape.indent - column, ' ');
  append_wrapped(out, text, shape);
}

std::string usage_line(const Command& command) {
  std::string line = fmt::format("Usage: smoe {}", command.name);
  for (const Argument& argument : command.arguments) {
    const std::string name = fmt::format("{}{}", argument.name, argument.repeats ? "..." : "");
    line += argument.required ? fmt::format(" {}", name) : fmt::format(" [{}]", name);
  }
  for (const Flag& flag : flags())
    if ((flag.required_by & set_of(command.id)) != 0) line += fmt::format(" {}", left_side(flag));
  return line + " [OPTIONS]";
}

std::string general_help() {
  std::string out =
      "smoe runs Mixture-of-Experts language models that are larger than the memory.\n\n"
      "Usage: smoe COMMAND [ARGUMENTS] [OPTIONS]\n\nCommands:\n";
  for (const Command& command : commands()) append_entry(out, command.name, command.purpose);
  out += "\nOptions:\n";
  append_entry(out, "-h, --help", "print this; after a command, print that command's help");
  append_entry(out, "--version", "print the version");
  out +=
      "\nFrom a checkpoint to text:\n"
      "  smoe shatter Qwen3-30B-A3B models/qwen3\n"
      "  smoe run models/qwen3 \"Once upon a time\" --memory 8G\n\n"
      "Exit status: 0 done, 1 failed, 2 wrong usage, 130 interrupted.\n"
      "stdout has the answer; progress and the log go to stderr. NO_COLOR and TERM=dumb turn\n"
      "colours off, CLICOLOR_FORCE=1 turns them on for files and pipes too.\n";
  return out;
}

std::string command_help(const Command& command) {
  std::string out = fmt::format("{}.\n\n{}\n\n", command.purpose, usage_line(command));
  append_wrapped(out, command.details, {.indent = 0});

  out += "\nArguments:\n";
  for (const Argument& argument : command.arguments)
    append_entry(out, argument.name, argument.help);

  for (const Group group : {Group::kCommand, Group::kGeneration, Group::kEngine, Group::kOutput})
    append_group(out, group, command);

  out += "\nExamples:\n";
  for (const Example& example : command.examples)
    out += fmt::format("  {}\n      {}\n", example.line, example.why);

  out +=
      "\nAn option that this call does not give is taken from the environment (--log-level: "
      "SMOE_LOG_LEVEL),\nthen from $XDG_CONFIG_HOME/smoe/config.toml (log-level = \"warn\").\n";
  return out;
}

}  // namespace smoe::cli
