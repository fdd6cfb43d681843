// A conversation with a model: its messages, and a session that holds as many of their tokens as
// still apply.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/answer_output.h"
#include "cli/input.h"
#include "engine/generation.h"
#include "engine/session.h"
#include "text/chat/chat_format.h"

namespace smoe::cli {

class Conversation {
 public:
  struct Turn {
    Generation generation;
    size_t cached_tokens = 0;   // of the prompt: they were in the KV cache already
    size_t context_tokens = 0;  // in use after the answer
  };

  // Everything outlives the conversation.
  static Result<Conversation> open(Engine& engine, const Tokenizer& tokenizer,
                                   const ChatFormat& format);

  // Says `text` and lets the model answer; only what the session does not hold yet is computed.
  // After a failure the conversation is as it was before. An answer that Ctrl-C stopped stays, as
  // far as it came. Fails: kContextFull (naming both numbers and what can be done), kUsage, and as
  // generate().
  Result<Turn> say(std::string text, const GenerationOptions& options, std::optional<bool> think,
                   Context& context);
  // Another answer to the last message. Fails also: kUsage when there is none.
  Result<Turn> retry(const GenerationOptions& options, std::optional<bool> think, Context& context);

  void clear() { messages_.clear(); }
  // An empty text takes it back.
  void set_system(std::string text) { system_ = std::move(text); }
  const std::string& system() const { return system_; }
  const std::vector<Message>& messages() const { return messages_; }
  const ContextLimit& limit() const { return limit_; }

  // {"messages":[{"role","content","reasoning_content"}]}. Fails: as replace_file; kCorrupt, naming
  // the file and the message that is wrong. After a failure of load() nothing has changed.
  Status save(const std::filesystem::path& file) const;
  Status load(const std::filesystem::path& file);

 private:
  Conversation(Engine& engine, const Tokenizer& tokenizer, const ChatFormat& format,
               Session session)
      : engine_(&engine),
        tokenizer_(&tokenizer),
        format_(&format),
        limit_(context_limit(tokenizer, engine.context())),
        session_(std::move(session)) {}
  Result<Turn> answer(const GenerationOptions& options, std::optional<bool> think,
                      Context& context);
  std::vector<Message> all_messages() const;
  Error full(size_t tokens) const;

  Engine* engine_;
  const Tokenizer* tokenizer_;
  const ChatFormat* format_;
  ContextLimit limit_;
  Session session_;
  std::string system_;
  std::vector<Message> messages_;  // without the system text
};

}  // namespace smoe::cli
