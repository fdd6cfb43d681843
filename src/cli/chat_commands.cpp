#include "cli/chat_commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "cli/help.h"
#include "cli/suggestion.h"

namespace smoe::cli {
namespace {

struct ChatCommand {
  std::string_view name;
  ChatAction action;
  std::string_view argument;  // empty: takes none; in brackets: may be left out
  std::string_view help;
};

constexpr std::array kChatCommands{
    ChatCommand{"/help", ChatAction::kHelp, "", "this list"},
    ChatCommand{"/clear", ChatAction::kClear, "", "forget the conversation, keep the system text"},
    ChatCommand{"/set", ChatAction::kSet, "[NAME VALUE]",
                "change a sampling option, as smoe chat --help names them; alone: show them"},
    ChatCommand{"/system", ChatAction::kSystem, "[TEXT]",
                "tell the model how to behave; alone: take it back"},
    ChatCommand{"/save", ChatAction::kSave, "FILE", "write the conversation as JSON"},
    ChatCommand{"/load", ChatAction::kLoad, "FILE", "go on with a conversation that was saved"},
    ChatCommand{"/retry", ChatAction::kRetry, "", "another answer to the last message"},
    ChatCommand{"/stats", ChatAction::kStats, "", "speed, disk and memory of the last answer"},
    ChatCommand{"/bye", ChatAction::kBye, "", "end; Ctrl-D does too"},
};

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

const ChatCommand* find(std::string_view name) {
  if (name == "/exit" || name == "/quit") name = "/bye";
  if (name == "/?") name = "/help";
  const auto* found = std::find_if(kChatCommands.begin(), kChatCommands.end(),
                                   [&](const ChatCommand& each) { return each.name == name; });
  return found == kChatCommands.end() ? nullptr : found;
}

Error unknown(std::string_view name) {
  std::vector<std::string> names;
  names.reserve(kChatCommands.size());
  for (const ChatCommand& command : kChatCommands) names.emplace_back(command.name);
  return {Code::kUsage,
          fmt::format("{} is no command{}; /help lists them, and two slashes begin a message that "
                      "begins with one",
                      name, suggestion(std::string(name), names))};
}

}  // namespace

Result<ChatLine> parse_chat_line(std::string_view line) {
  if (line.starts_with("//")) return ChatLine{ChatAction::kSay, std::string(line.substr(1))};
  if (!line.starts_with('/')) return ChatLine{ChatAction::kSay, std::string(line)};
  const size_t end = std::min(line.find_first_of(" \t\r\n"), line.size());
  const std::string_view name = line.substr(0, end);
  const std::string_view rest = trimmed(line.substr(end));
  const ChatCommand* command = find(name);
  if (command == nullptr) return unknown(name);
  if (command->argument.empty() && !rest.empty())
    return Error{Code::kUsage, fmt::format("{} takes nothing after it", command->name)};
  if (rest.empty() && !command->argument.empty() && !command->argument.starts_with('['))
    return Error{Code::kUsage, fmt::format("{} {}: the {} is missing", command->name,
                                           command->argument, command->argument)};
  return ChatLine{command->action, std::string(rest)};
}

std::string chat_help(size_t columns) {
  const EntryShape shape{.indent = 25, .columns = columns};
  std::string text;
  for (const ChatCommand& command : kChatCommands)
    append_entry(text, fmt::format("{} {}", command.name, command.argument), command.help, shape);
  append_entry(text, "\"\"\"",
               "begins a message of several lines; a line that ends with \"\"\" ends it", shape);
  append_entry(text, "Ctrl-C", "stop the answer, or drop the line; twice: end", shape);
  append_entry(text, "Ctrl-G", "write the message in $EDITOR", shape);
  append_entry(text, "Up, Down, Ctrl-R", "earlier lines", shape);
  return text;
}

}  // namespace smoe::cli
