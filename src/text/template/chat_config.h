// What a model folder says about its chat template.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "text/template/chat_template.h"

namespace smoe {

// One folder may have several templates: "default", and "tool_use" for conversations with tools.
struct ChatConfig {
  std::vector<std::pair<std::string, ChatTemplate>> templates;
  // bos_token, eos_token, pad_token and their like, as the template's own text.
  TemplateVariables special_tokens;

  // The template for a conversation; nullptr when the model has none that fits.
  const ChatTemplate* find(bool with_tools) const;
  const ChatTemplate* find_named(std::string_view name) const;
};

// Reads chat_template.jinja, additional_chat_templates/*.jinja and tokenizer_config.json, each if
// it is there (of a GGUF file what its keys say); a file of its own beats the entry in
// tokenizer_config.json. Fails: kCorrupt, kUnsupported, naming the file and, within a template,
// line and column.
Result<ChatConfig> read_chat_config(const std::filesystem::path& folder);

}  // namespace smoe
