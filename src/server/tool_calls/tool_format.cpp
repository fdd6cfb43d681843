#include "server/tool_calls/tool_format.h"

#include <array>

#include "base/file.h"
#include "base/units.h"
#include "formats/companion.h"
#include "server/tool_calls/call_grammar.h"
#include "server/tool_calls/call_stream.h"
#include "server/tool_calls/marks.h"
#include "server/tool_calls/readers.h"

namespace smoe::server {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxTemplateBytes = 64 * kMiB;

constexpr CallPairs kXmlPairs{kParameterOpen, ">", "", kParameterClose, kFunctionClose};
constexpr CallPairs kKeyPairs{kKeyOpen, kKeyClose, kValueOpen, kValueClose, "</tool_call>"};

constexpr std::array<std::string_view, 4> kChannelMarks{
    "<|start|>assistant", "<|channel|>final<|message|>", "<|channel|>commentary<|message|>",
    "<|end|>"};

// The first whose sign is found counts: <tool_call> alone says least, so it comes late.
constexpr std::array kToolFormats{
    ToolFormat{.name = "qwen3-coder",
               .sign = "<function=",
               .open = "<tool_call>",
               .close = "</tool_call>",
               .again = kFunctionOpen,
               .read = read_xml_calls,
               .head = xml_call_head,
               .pairs = &kXmlPairs,
               .spell = xml_call},
    ToolFormat{.name = "glm",
               .sign = "<arg_key>",
               .open = "<tool_call>",
               .close = "</tool_call>",
               .read = read_pair_calls,
               .head = pair_call_head,
               .pairs = &kKeyPairs,
               .spell = pair_call},
    ToolFormat{.name = "deepseek",
               .sign = "<｜tool▁calls▁begin｜>",
               .open = "<｜tool▁calls▁begin｜>",
               .close = "<｜tool▁calls▁end｜>",
               .again = kCallBegin,
               .read = read_deepseek_calls,
               .head = deepseek_call_head,
               .spell = deepseek_call},
    ToolFormat{.name = "gpt-oss",
               .sign = "<|channel|>",
               .open = "<|channel|>commentary to=functions.",
               .close = "<|call|>",
               .silent = kChannelMarks,
               // Its template has the name before the channel, models write both.
               .other_open = " to=functions.",
               .read = read_channel_calls,
               .head = channel_call_head,
               .spell = channel_call},
    ToolFormat{.name = "hermes",
               .sign = "<tool_call>",
               .open = "<tool_call>",
               .close = "</tool_call>",
               .read = read_json_calls,
               .head = json_call_head,
               .spell = json_call},
};

void append_companion(const fs::path& model, std::string& text) {
  const auto content = read_companion(model, "chat_template.jinja", kMaxTemplateBytes);
  if (content && *content) text += **content;
}

void append_others(const fs::path& model, std::string& text) {
  std::error_code error;
  for (fs::directory_iterator entry(model / "additional_chat_templates", error), end;
       !error && entry != end; entry.increment(error))
    if (auto content = read_text_file(entry->path(), kMaxTemplateBytes)) text += *content;
}

// tokenizer_config.json holds a template, or a list of {"name", "template"}.
void append_config(const fs::path& model, std::string& text) {
  const auto content = read_companion(model, "tokenizer_config.json", kMaxTemplateBytes);
  if (!content || !*content) return;
  const auto json = Json::parse(**content, {.max_depth = 512, .unique_keys = false});
  if (!json) return;
  const Json* value = json->find("chat_template");
  if (value == nullptr) return;
  text += value->as_string().value_or("");
  for (const Json& entry : value->items())
    if (const Json* source = entry.find("template")) text += source->as_string().value_or("");
}

}  // namespace

std::span<const ToolFormat> tool_formats() { return kToolFormats; }

const ToolFormat* tool_format_of(std::string_view template_source) {
  for (const ToolFormat& format : kToolFormats)
    if (template_source.find(format.sign) != std::string_view::npos) return &format;
  return nullptr;
}

std::string template_sources(const fs::path& model) {
  std::string text;
  append_companion(model, text);
  append_others(model, text);
  append_config(model, text);
  return text;
}

}  // namespace smoe::server
