#include "text/decoder.h"

#include <algorithm>
#include <utility>

#include "text/byte_alphabet.h"
#include "text/byte_token.h"
#include "text/decoder_stages.h"
#include "text/step_fields.h"

namespace smoe {
namespace {

// No released tokenizer has more than a handful.
constexpr size_t kMaxDecoderSteps = 32;
constexpr size_t kMaxStrip = 1024;
constexpr size_t kMaxDecodedContentBytes = 64;
constexpr size_t kMaxDecodedGrowth = 64;

using Step = Decoder::Step;

Result<Step> read_replace(const StepFields& fields) {
  SMOE_DO(fields.only({"pattern", "content"}));
  SMOE_TRY(const StepPattern pattern, fields.pattern("pattern"));
  SMOE_TRY(const std::string_view content, fields.string("content"));
  if (pattern.text.empty() || content.size() > kMaxDecodedContentBytes)
    return Error{Code::kUnsupported, fields.name() + ": an empty pattern or a content above " +
                                         std::to_string(kMaxDecodedContentBytes) +
                                         " bytes is not supported by this version"};
  Step step{.kind = Step::Kind::kReplace, .content = std::string(content)};
  if (!pattern.is_regex) {
    step.literal = pattern.text;
    return step;
  }
  auto regex = Regex::compile(pattern.text);
  if (!regex) return std::move(regex).error().in(fields.name());
  step.regex = std::move(*regex);
  return step;
}

Result<Step> read_metaspace(const StepFields& fields) {
  SMOE_DO(fields.only({"replacement", "prepend_scheme", "split", "add_prefix_space", "str_rep"}));
  SMOE_TRY(const std::string_view replacement, fields.character("replacement"));
  SMOE_TRY(const bool add_prefix_space, fields.boolean("add_prefix_space", true));
  std::string_view scheme = "always";
  if (fields.value("prepend_scheme") != nullptr) {
    SMOE_TRY(scheme, fields.string("prepend_scheme"));
  }
  if (scheme != "always" && scheme != "first" && scheme != "never")
    return fields.wrong("prepend_scheme", "\"always\", \"first\" or \"never\"");
  if (!add_prefix_space && scheme != "never")
    return fields.wrong("prepend_scheme", "\"never\" where \"add_prefix_space\" is false");
  return Step{.kind = Step::Kind::kMetaspace,
              .content = std::string(replacement),
              .drops_first = scheme != "never"};
}

Result<Step> read_strip(const StepFields& fields) {
  SMOE_DO(fields.only({"content", "start", "stop"}));
  SMOE_TRY(const std::string_view content, fields.character("content"));
  SMOE_TRY(const uint32_t start, fields.id("start"));
  SMOE_TRY(const uint32_t stop, fields.id("stop"));
  if (start > kMaxStrip || stop > kMaxStrip)
    return Error{Code::kUnsupported, fields.name() + ": more than " + std::to_string(kMaxStrip) +
                                         " characters is not supported by this version"};
  return Step{
      .kind = Step::Kind::kStrip, .content = std::string(content), .start = start, .stop = stop};
}

Result<Step> read_step(const StepFields& fields) {
  if (fields.type() == "Replace") return read_replace(fields);
  if (fields.type() == "Metaspace") return read_metaspace(fields);
  if (fields.type() == "Strip") return read_strip(fields);
  if (fields.type() == "ByteLevel") {
    SMOE_DO(fields.only({"add_prefix_space", "trim_offsets", "use_regex"}));
    return Step{.kind = Step::Kind::kByteLevel};
  }
  if (fields.type() != "ByteFallback" && fields.type() != "Fuse") return fields.unsupported();
  SMOE_DO(fields.only({}));
  return Step{.kind = fields.type() == "Fuse" ? Step::Kind::kFuse : Step::Kind::kByteFallback};
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

}  // namespace

Decoder::Decoder() = default;
Decoder::Decoder(Decoder&&) noexcept = default;
Decoder& Decoder::operator=(Decoder&&) noexcept = default;
Decoder::~Decoder() = default;

Result<Decoder> Decoder::from_json(const Json& description) {
  if (description.is_null())
    return Error{Code::kUnsupported, "decoder: none is not supported by this version"};
  Decoder decoder;
  SMOE_DO(decoder.add_step(description));
  return decoder;
}

Status Decoder::add_step(const Json& description) {
  SMOE_TRY(const StepFields fields, StepFields::of(description, "decoder"));
  if (steps_.size() >= kMaxDecoderSteps)
    return Error{Code::kUnsupported,
                 "decoder: more than " + std::to_string(kMaxDecoderSteps) + " steps"};
  if (fields.type() != "Sequence") {
    SMOE_TRY(Step step, read_step(fields));
    if (step.kind == Step::Kind::kReplace)
      growth_ *=
          step.regex ? step.content.size() + 1 : step.content.size() / step.literal.size() + 1;
    // A step that makes text longer, applied over and over, would fill the memory.
    if (growth_ > kMaxDecodedGrowth)
      return Error{Code::kUnsupported, "decoder: its steps make text more than " +
                                           std::to_string(kMaxDecodedGrowth) + " times as long"};
    steps_.push_back(std::move(step));
    return {};
  }
  SMOE_DO(fields.only({"decoders"}));
  SMOE_TRY(const auto* steps, fields.array("decoders"));
  for (const Json& inner : *steps) SMOE_DO(add_step(inner));
  return {};
}

void Decoder::append_bytes_of(std::string& bytes, std::string_view token) const {
  std::string changed;
  for (const Step& step : steps_) {
    if (step.kind == Step::Kind::kByteLevel) return append_bytes_of_letters(bytes, token);
    if (step.kind == Step::Kind::kByteFallback) {
      if (const auto byte = byte_of_token(token)) {
        bytes.push_back(static_cast<char>(*byte));
        return;
      }
    } else if (step.kind == Step::Kind::kMetaspace) {
      changed = replaced(std::string(token), step.content, " ");
      token = changed;
    } else if (step.kind == Step::Kind::kReplace) {
      CollectingStage result;
      const auto stage = make_stage(step, result);
      stage->text(token);
      stage->end_token();
      changed.clear();
      result.take(changed);
      token = changed;
    }
  }
  bytes.append(token);
}

Decoder::Stream::Stream(const Decoder& decoder) {
  stages_.push_back(std::make_unique<CollectingStage>());
  for (auto step = decoder.steps_.rbegin(); step != decoder.steps_.rend(); ++step)
    stages_.push_back(make_stage(*step, *stages_.back()));
  std::reverse(stages_.begin(), stages_.end());
}

Decoder::Stream::Stream(Stream&&) noexcept = default;
Decoder::Stream& Decoder::Stream::operator=(Stream&&) noexcept = default;
Decoder::Stream::~Stream() = default;

void Decoder::Stream::push(std::string_view token, std::string& text) {
  stages_.front()->text(token);
  stages_.front()->end_token();
  static_cast<CollectingStage&>(*stages_.back()).take(text);
}

void Decoder::Stream::finish(std::string& text) {
  stages_.front()->finish();
  static_cast<CollectingStage&>(*stages_.back()).take(text);
}

}  // namespace smoe
