#include "text/normalizer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "text/step_fields.h"
#include "text/unicode_tables.h"
#include "text/utf8.h"

namespace smoe {
namespace {

// No released tokenizer has more than a handful; each is a pass over the text.
constexpr size_t kMaxNormalizerSteps = 32;
// A step that makes text longer, applied over and over, would fill the memory.
constexpr size_t kMaxNormalizedGrowth = 64;
constexpr size_t kAllowedNormalizedBytes = 1 << 20;
constexpr size_t kMaxNormalizedContentBytes = 64;

struct FormName {
  std::string_view name;
  NormalForm form;
};
constexpr auto kForms = std::to_array<FormName>({
    {"NFC", NormalForm::kNfc},
    {"NFD", NormalForm::kNfd},
    {"NFKC", NormalForm::kNfkc},
    {"NFKD", NormalForm::kNfkd},
});

SourcedText to_lowercase(const SourcedText& text) {
  SourcedText result = text.empty_like();
  result.text.reserve(text.text.size());
  std::string lower;
  for (size_t at = 0; at < text.text.size();) {
    const Utf8Step step = utf8_step(text.text, at);
    lower.clear();
    append_lowercase(lower, step.code_point);
    if (lower.size() == step.bytes) {  // byte by byte, where they correspond
      for (size_t byte = 0; byte < step.bytes; ++byte)
        result.append(std::string_view(lower).substr(byte, 1), text, at + byte);
    } else {
      result.append(lower, text, at);
    }
    at += step.bytes;
  }
  return result;
}

SourcedText strip(SourcedText text, bool left, bool right) {
  size_t begin = 0;
  size_t end = text.text.size();
  while (left && begin < end) {
    const Utf8Step step = utf8_step(text.text, begin);
    if (!is_space(step.code_point)) break;
    begin += step.bytes;
  }
  while (right && begin < end) {
    const size_t before = previous_character(text.text, end);
    if (!is_space(utf8_step(text.text, before).code_point)) break;
    end = before;
  }
  if (begin == 0 && end == text.text.size()) return text;
  return text.slice(begin, end);
}

std::vector<TextRange> find_literal(std::string_view text, std::string_view literal) {
  std::vector<TextRange> matches;
  for (size_t at = text.find(literal); at != std::string_view::npos;
       at = text.find(literal, at + literal.size()))
    matches.push_back({at, at + literal.size()});
  return matches;
}

SourcedText replace(const SourcedText& text, const std::vector<TextRange>& matches,
                    std::string_view content) {
  SourcedText result = text.empty_like();
  result.text.reserve(text.text.size());
  size_t copied = 0;
  for (const TextRange match : matches) {
    result.append(text, copied, match.begin);
    const size_t begin = result.text.size();
    result.append(content, text, match.begin);
    // To the reference it stands for the last character that it took the place of.
    if (match.end > text.first_bytes) result.first_bytes = std::min(result.first_bytes, begin);
    copied = match.end;
  }
  result.append(text, copied, text.text.size());
  return result;
}

}  // namespace

Result<Normalizer> Normalizer::from_json(const Json& description) {
  Normalizer normalizer;
  if (!description.is_null()) SMOE_DO(normalizer.add_step(description));
  return normalizer;
}

Status Normalizer::add_step(const Json& description) {
  SMOE_TRY(const StepFields step, StepFields::of(description, "normalizer"));
  if (steps_.size() >= kMaxNormalizerSteps)
    return Error{Code::kUnsupported,
                 "normalizer: more than " + std::to_string(kMaxNormalizerSteps) + " steps"};
  for (const FormName& each : kForms) {
    if (step.type() != each.name) continue;
    SMOE_DO(step.only({}));
    return add_form(each.form);
  }
  if (step.type() == "Lowercase") {
    SMOE_DO(step.only({}));
    steps_.push_back({.kind = Kind::kLowercase});
    return {};
  }
  if (step.type() == "Prepend") {
    SMOE_DO(step.only({"prepend"}));
    SMOE_TRY(const std::string_view content, step.string("prepend"));
    // The reference loses its way in the text over an empty one.
    if (content.empty() || content.size() > kMaxNormalizedContentBytes)
      return Error{Code::kUnsupported, step.name() + ": a text that is empty or above " +
                                           std::to_string(kMaxNormalizedContentBytes) +
                                           " bytes is not supported"};
    steps_.push_back({.kind = Kind::kPrepend, .content = std::string(content)});
    return {};
  }
  if (step.type() == "Strip") {
    SMOE_DO(step.only({"strip_left", "strip_right"}));
    SMOE_TRY(const bool left, step.boolean("strip_left"));
    SMOE_TRY(const bool right, step.boolean("strip_right"));
    steps_.push_back({.kind = Kind::kStrip, .left = left, .right = right});
    return {};
  }
  if (step.type() == "Replace") return add_replace(step);
  if (step.type() != "Sequence") return step.unsupported();
  SMOE_DO(step.only({"normalizers"}));
  SMOE_TRY(const auto* steps, step.array("normalizers"));
  for (const Json& inner : *steps) SMOE_DO(add_step(inner));
  return {};
}

Status Normalizer::add_form(NormalForm form) {
  // A second time changes nothing.
  if (steps_.empty() || steps_.back().kind != Kind::kForm || steps_.back().form != form)
    steps_.push_back({.kind = Kind::kForm, .form = form});
  return {};
}

Status Normalizer::add_replace(const StepFields& fields) {
  SMOE_DO(fields.only({"pattern", "content"}));
  SMOE_TRY(const StepPattern pattern, fields.pattern("pattern"));
  SMOE_TRY(const std::string_view content, fields.string("content"));
  if (content.size() > kMaxNormalizedContentBytes)
    return Error{Code::kUnsupported, fields.name() + ": a content above " +
                                         std::to_string(kMaxNormalizedContentBytes) +
                                         " bytes is not supported"};
  Step step{.kind = Kind::kReplace, .content = std::string(content)};
  if (pattern.is_regex || pattern.text.empty()) {
    auto regex = Regex::compile(pattern.text);
    if (!regex) return std::move(regex).error().in(fields.name());
    step.regex = std::move(*regex);
  } else {
    step.literal = pattern.text;
  }
  steps_.push_back(std::move(step));
  return {};
}

Result<SourcedText> Normalizer::apply(const Step& step, SourcedText text, MatchSteps& steps) {
  switch (step.kind) {
    case Kind::kForm:
      // ASCII is in every normal form.
      if (is_ascii(text.text)) return text;
      return to_normal_form(text, step.form);
    case Kind::kLowercase:
      return to_lowercase(text);
    case Kind::kPrepend: {
      if (text.text.empty()) return text;
      SourcedText result = text.empty_like();
      result.append(step.content, text, 0);
      result.append(text, 0, text.text.size());
      return result;
    }
    case Kind::kReplace: {
      if (!step.regex) return replace(text, find_literal(text.text, step.literal), step.content);
      std::string storage;
      std::vector<TextRange> matches;
      Regex::Finder finder(*step.regex, steps);
      SMOE_DO(
          finder.find_all(step.regex->known(text.text, storage), {0, text.text.size()}, matches));
      return replace(text, matches, step.content);
    }
    case Kind::kStrip:
      return strip(std::move(text), step.left, step.right);
  }
  return text;
}

Result<SourcedText> Normalizer::normalize(SourcedText text) const {
  MatchSteps steps = MatchSteps::for_text(text.text.size());
  return normalize(std::move(text), steps);
}

Result<SourcedText> Normalizer::normalize(SourcedText text, MatchSteps& steps) const {
  const size_t most = kAllowedNormalizedBytes + kMaxNormalizedGrowth * text.text.size();
  for (const Step& step : steps_) {
    SMOE_TRY(text, apply(step, std::move(text), steps));
    if (text.text.size() > most)
      return Error{Code::kUnsupported, "normalizer: makes text more than " +
                                           std::to_string(kMaxNormalizedGrowth) + " times as long"};
  }
  return text;
}

Result<std::string> Normalizer::normalize(std::string_view text) const {
  SMOE_TRY(SourcedText normal, normalize(SourcedText{.text = std::string(text)}));
  return std::move(normal.text);
}

}  // namespace smoe
