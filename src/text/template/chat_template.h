// A model's chat template: Jinja source that turns a conversation into the text of a prompt.
// Rendered as Hugging Face's transformers do it; docs/chat-templates.md says what is supported.
#pragma once

#include <cstdint>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "text/template/marked_text.h"

namespace smoe {

namespace jinja {
class Value;
struct Template;
}  // namespace jinja

// What a template is given, by name. A later value of the same name takes the place of an earlier
// one.
class TemplateVariables {
 public:
  TemplateVariables();
  TemplateVariables(const TemplateVariables& other);
  TemplateVariables(TemplateVariables&& other) noexcept;
  TemplateVariables& operator=(TemplateVariables other) noexcept;
  ~TemplateVariables();

  // Messages, tools and whatever else a request holds: kVariable, so that none of its strings can
  // become a special token. kTemplate is for what the model's own files say, such as bos_token.
  void set(std::string_view name, const Json& value, Origin origin);
  void set_text(std::string_view name, std::string_view text, Origin origin);
  void set_flag(std::string_view name, bool flag);

 private:
  friend class ChatTemplate;

  std::vector<std::pair<std::string, jinja::Value>> values_;
};

// A prompt. Where text comes from decides how it is tokenised: special tokens are recognised only
// where all of their bytes are the template's own, and the rest is ordinary text. Origins are no
// token boundaries: between special tokens the text is split as one piece.
struct RenderedPrompt {
  struct Span {
    size_t begin;
    size_t end;
    Origin origin;
  };

  std::string text;
  std::vector<Span> spans;  // without gaps, neighbours differ
};

struct RenderOptions {
  std::tm now{};  // for strftime_now()
  uint64_t output_bytes = uint64_t{64} << 20;
  uint64_t steps = 50'000'000;
};

class ChatTemplate {
 public:
  // `name` stands before line and column in every error.
  // Fails: kCorrupt for a syntax error; kUnsupported for a source of more than 256 KiB, and for a
  // filter, test, function or method that does not exist, in whichever branch it is.
  static Result<ChatTemplate> parse(std::string_view source, std::string_view name);

  // Fails: kUsage when the template refuses the variables (raise_exception), when they do not fit
  // it, and when it exceeds a limit.
  // Threads: any, at once.
  Result<RenderedPrompt> render(const TemplateVariables& variables,
                                const RenderOptions& options) const;

 private:
  explicit ChatTemplate(std::shared_ptr<const jinja::Template> source)
      : source_(std::move(source)) {}

  // Shared, because it never changes and copies of a template are handed to threads.
  std::shared_ptr<const jinja::Template> source_;
};

}  // namespace smoe
