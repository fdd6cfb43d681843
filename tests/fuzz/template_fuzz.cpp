// Any bytes as a template with a conversation: it is refused or ends within its limits, and no byte
// of a message ever counts as the template's own.
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/json.h"
#include "text/template/chat_template.h"

namespace smoe {
namespace {

constexpr std::string_view kMessages = R"([
  {"role": "system", "content": "\u00a7"},
  {"role": "user", "content": [{"type": "text", "text": "\u00a7 \u00a7"}]},
  {"role": "assistant", "content": null, "tool_calls": [
    {"type": "function", "function": {"name": "\u00a7", "arguments": {"\u00a7": 1.0, "n": 12345678901234567890}}}]},
  {"role": "tool", "content": "\u00a7"}])";

// Bytes that only a message has: a section sign in the source itself is replaced first.
constexpr std::string_view kMark = "\xc2\xa7";

std::string without_marks(std::string_view source) {
  std::string result(source);
  for (size_t at = result.find(kMark); at != std::string::npos; at = result.find(kMark, at))
    result.replace(at, kMark.size(), "SS");
  return result;
}

void check_spans(const RenderedPrompt& prompt) {
  SMOE_CHECK(is_utf8(prompt.text));
  size_t end = 0;
  for (const auto& span : prompt.spans) {
    SMOE_CHECK(span.begin == end && span.end > span.begin);
    end = span.end;
  }
  SMOE_CHECK(end == prompt.text.size());
}

// Unless the source can spell the sign with an escape.
void check_origins(const RenderedPrompt& prompt) {
  for (const auto& span : prompt.spans) {
    if (span.origin != Origin::kTemplate) continue;
    const std::string_view own(prompt.text.data() + span.begin, span.end - span.begin);
    SMOE_CHECK(own.find(kMark) == std::string_view::npos);
  }
}

}  // namespace
}  // namespace smoe

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string source = smoe::without_marks({reinterpret_cast<const char*>(data), size});
  const auto parsed = smoe::ChatTemplate::parse(source, "fuzz");
  if (!parsed) {
    SMOE_CHECK(parsed.error().message.starts_with("fuzz:"));
    return 0;
  }
  smoe::TemplateVariables variables;
  variables.set("messages", *smoe::Json::parse(smoe::kMessages), smoe::Origin::kVariable);
  variables.set_text("bos_token", "<s>", smoe::Origin::kTemplate);
  variables.set_text("a", "\xc2\xa7", smoe::Origin::kVariable);
  variables.set_flag("add_generation_prompt", true);
  smoe::RenderOptions options;
  options.now.tm_mday = 1;
  options.steps = 200'000;
  options.output_bytes = 1 << 20;
  const auto prompt = parsed->render(variables, options);
  if (!prompt) return 0;
  smoe::check_spans(*prompt);
  if (source.find('\\') == std::string::npos) smoe::check_origins(*prompt);
  return 0;
}
