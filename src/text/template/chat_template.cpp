#include "text/template/chat_template.h"

#include <algorithm>

#include "text/template/renderer.h"
#include "text/template/syntax.h"
#include "text/template/value.h"

namespace smoe {
namespace {

RenderedPrompt prompt_of(const MarkedText& text) {
  RenderedPrompt prompt{std::string(text.bytes()), {}};
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.run_end(at);
    prompt.spans.push_back({at, end, text.origin_at(at)});
    at = end;
  }
  return prompt;
}

}  // namespace

TemplateVariables::TemplateVariables() = default;
TemplateVariables::TemplateVariables(const TemplateVariables& other) = default;
TemplateVariables::TemplateVariables(TemplateVariables&& other) noexcept = default;
TemplateVariables& TemplateVariables::operator=(TemplateVariables other) noexcept {
  values_.swap(other.values_);
  return *this;
}
TemplateVariables::~TemplateVariables() = default;

void TemplateVariables::set(std::string_view name, const Json& value, Origin origin) {
  values_.emplace_back(name, jinja::Value::from_json(value, origin));
}

void TemplateVariables::set_text(std::string_view name, std::string_view text, Origin origin) {
  values_.emplace_back(name, jinja::Value(MarkedText(std::string(text), origin)));
}

void TemplateVariables::set_flag(std::string_view name, bool flag) {
  values_.emplace_back(name, jinja::Value(flag));
}

Result<ChatTemplate> ChatTemplate::parse(std::string_view source, std::string_view name) {
  SMOE_TRY(jinja::Template parsed, jinja::parse_template(source, name));
  return ChatTemplate(std::make_shared<const jinja::Template>(std::move(parsed)));
}

Result<RenderedPrompt> ChatTemplate::render(const TemplateVariables& variables,
                                            const RenderOptions& options) const {
  jinja::Values values(source_->names.size());
  for (size_t i = 0; i < values.size(); ++i)
    for (const auto& [name, value] : variables.values_)
      if (name == source_->names[i]) values[i] = value;
  jinja::Run run({.output_bytes = options.output_bytes, .steps = options.steps}, options.now);
  SMOE_TRY(const MarkedText text, jinja::Renderer(*source_, values, run).render());
  return prompt_of(text);
}

}  // namespace smoe
