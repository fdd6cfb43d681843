// What a line of smoe chat asks for: a message, or one of the commands that begin with a slash.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace smoe::cli {

enum class ChatAction : uint8_t {
  kSay,
  kHelp,
  kClear,
  kSet,
  kSystem,
  kSave,
  kLoad,
  kRetry,
  kStats,
  kBye,
};

struct ChatLine {
  ChatAction action = ChatAction::kSay;
  std::string text;  // the message, or what follows the command
};

// A line that begins with two slashes is a message that begins with one.
// Fails: kUsage for an unknown command, and for one without the argument that it needs.
Result<ChatLine> parse_chat_line(std::string_view line);

// What /help prints, in lines of at most `columns`.
std::string chat_help(size_t columns);

}  // namespace smoe::cli
