// A conversation as the tokens that the model was trained on: its chat template and its tokenizer.
#pragma once

#include <ctime>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/token.h"
#include "text/chat/messages.h"
#include "text/template/chat_config.h"
#include "text/tokenizer.h"

namespace smoe {

struct Message {
  std::string role;  // system, user, assistant
  std::string content;
  std::string reasoning;  // an assistant's thinking, when it was told apart
  friend bool operator==(const Message&, const Message&) = default;
};

struct ChatPrompt {
  std::string text;
  std::vector<TokenId> tokens;
  // For each token whether the template wrote the text that it begins with.
  std::vector<bool> from_template;
};

struct ChatOptions {
  std::optional<bool> think;  // enable_thinking, for templates that know it
  std::tm now{};              // for templates that tell the model the date
};

class ChatFormat {
 public:
  // Nothing when the model has no chat template. `tokenizer` outlives the format.
  // Fails: kCorrupt, kUnsupported: a template that this build cannot render, with line and column.
  static Result<std::optional<ChatFormat>> load(const std::filesystem::path& model,
                                                const Tokenizer& tokenizer);

  // The conversation up to where the assistant speaks next. Special tokens come from the template
  // alone: those that a message or a role spells out are ordinary text. Fails: kUnsupported when
  // the template refuses the messages (with its reason); kCorrupt for a message that is no UTF-8.
  Result<ChatPrompt> prompt(std::span<const Message> messages, const ChatOptions& options) const;

  // The template with variables of the caller's: a JSON object with messages, tools,
  // add_generation_prompt and so on. Messages may come as clients of any kind send them; the
  // template gets them in the form that it reads (text/chat/messages.h).
  // Fails: as prompt() and normalized_messages(); kCorrupt when it is no object.
  Result<ChatPrompt> render(const Json& variables, const std::tm& now) const;

 private:
  ChatFormat(ChatConfig config, const Tokenizer& tokenizer);

  ChatConfig config_;
  std::vector<MessageForm> forms_;  // of each template
  const Tokenizer* tokenizer_;
};

}  // namespace smoe
