// A model that is open, with everything that requests need of it.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/token.h"
#include "engine/engine.h"
#include "engine/sampler.h"
#include "server/model_list.h"
#include "server/scheduler.h"
#include "server/tool_calls/tool_format.h"
#include "text/chat/chat_format.h"
#include "text/chat/reasoning.h"
#include "text/end_tokens.h"
#include "text/grammar/grammar_shelf.h"
#include "text/tokenizer.h"

namespace smoe::server {

// An engine with the device and the threads that it computes on, which only the cli can make.
class EngineHolder {
 public:
  virtual ~EngineHolder() = default;
  virtual Engine& engine() = 0;
  // What its bits depend on beside the model: the program and the device.
  virtual std::string arithmetic() const = 0;
};

using EngineOpener = std::function<Result<std::unique_ptr<EngineHolder>>(const ModelEntry& entry)>;

class ServedModel {
 public:
  // Fails: as `opener`, Tokenizer::load and ChatFormat::load.
  static Result<std::unique_ptr<ServedModel>> open(const ModelEntry& entry,
                                                   const EngineOpener& opener,
                                                   const SchedulerOptions& options);

  const std::string& id() const { return entry_.id; }
  const std::filesystem::path& folder() const { return entry_.folder; }
  uint64_t opened_at() const { return opened_at_; }  // Unix seconds
  const Engine& engine() const { return holder_->engine(); }
  const Tokenizer& tokenizer() const { return *tokenizer_; }
  const ChatFormat* chat() const { return chat_ ? &*chat_ : nullptr; }
  const std::vector<TokenId>& stops() const { return stops_; }
  const EndTokens& ends() const { return ends_; }
  const SamplerOptions& sampling() const { return sampling_; }
  const ToolFormat* tool_format() const { return tool_format_; }
  const ReasoningMarks& reasoning_marks() const { return reasoning_marks_; }
  const std::string& template_source() const { return template_source_; }
  GrammarShelf& grammars() { return *grammars_; }
  Scheduler& scheduler() { return *scheduler_; }

  // A text to continue, with BOS where the model wants it. Fails: as Tokenizer::encode.
  Result<std::vector<TokenId>> encode_text(std::string_view text) const;

 private:
  ServedModel() = default;

  ModelEntry entry_;
  uint64_t opened_at_ = 0;
  std::unique_ptr<EngineHolder> holder_;
  std::optional<Tokenizer> tokenizer_;
  std::optional<ChatFormat> chat_;
  std::vector<TokenId> stops_;
  EndTokens ends_;
  SamplerOptions sampling_;
  std::string template_source_;
  const ToolFormat* tool_format_ = nullptr;
  ReasoningMarks reasoning_marks_;
  std::optional<GrammarShelf> grammars_;
  std::unique_ptr<Scheduler> scheduler_;  // last: its thread uses all the others
};

}  // namespace smoe::server
