#include "text/normalizer.h"

#include <utf8proc.h>

#include <algorithm>

#include "base/check.h"
#include "text/step_fields.h"
#include "text/unicode_tables.h"
#include "text/utf8.h"

namespace smoe {
namespace {

using CodePoints = std::vector<utf8proc_int32_t>;

// No character below this one decomposes differently from how it composes, and none moves.
constexpr char32_t kFirstCombining = 0x300;

uint8_t combining_class(utf8proc_int32_t code_point) {
  return static_cast<uint8_t>(utf8proc_get_property(code_point)->combining_class);
}

void append_decomposed(CodePoints& to, char32_t code_point) {
  constexpr utf8proc_ssize_t kLongest = 18;  // no canonical decomposition is longer
  utf8proc_int32_t parts[kLongest];
  int boundary = UTF8PROC_BOUNDCLASS_START;
  const auto option = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE);
  const utf8proc_ssize_t count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(code_point),
                                                         parts, kLongest, option, &boundary);
  SMOE_CHECK(count >= 0 && count <= kLongest);
  to.insert(to.end(), parts, parts + count);
}

// utf8proc sorts combining marks by insertion, which takes minutes for a megabyte of them.
void sort_marks(CodePoints& points) {
  auto begin = points.begin();
  while (begin != points.end()) {
    const auto is_mark = [](utf8proc_int32_t point) { return combining_class(point) != 0; };
    begin = std::find_if(begin, points.end(), is_mark);
    const auto end = std::find_if_not(begin, points.end(), is_mark);
    std::stable_sort(begin, end, [](utf8proc_int32_t a, utf8proc_int32_t b) {
      return combining_class(a) < combining_class(b);
    });
    begin = end;
  }
}

// Appends the composed form of `points` and clears them.
void flush(CodePoints& points, std::string& to) {
  sort_marks(points);
  const auto option = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);
  const utf8proc_ssize_t count =
      utf8proc_normalize_utf32(points.data(), static_cast<utf8proc_ssize_t>(points.size()), option);
  for (utf8proc_ssize_t index = 0; index < count; ++index)
    append_utf8(to, static_cast<char32_t>(points[static_cast<size_t>(index)]));
  points.clear();
}

}  // namespace

std::string to_nfc(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  CodePoints pending;
  size_t at = 0;
  while (at < text.size()) {
    const Utf8Step step = utf8_step(text, at);
    at += step.bytes;
    const bool unknown = is_unknown_to_normalization(step.code_point);
    // A starter below U+0300 ends whatever came before it, and what is unknown is a starter.
    if (unknown || step.code_point < kFirstCombining) flush(pending, result);
    if (unknown) {
      append_utf8(result, step.code_point);
    } else {
      append_decomposed(pending, step.code_point);
    }
  }
  flush(pending, result);
  return result;
}

Result<Normalizer> Normalizer::from_json(const Json& description) {
  Normalizer normalizer;
  if (!description.is_null()) SMOE_DO(normalizer.add_step(description));
  return normalizer;
}

Status Normalizer::add_step(const Json& description) {
  SMOE_TRY(const StepFields step, StepFields::of(description, "normalizer"));
  if (step.type() == "NFC") {
    SMOE_DO(step.only({}));
    if (steps_.empty()) steps_.push_back(Step::kNfc);  // a second time changes nothing
    return {};
  }
  if (step.type() != "Sequence") return step.unsupported();
  SMOE_DO(step.only({"normalizers"}));
  SMOE_TRY(const auto* steps, step.array("normalizers"));
  for (const Json& inner : *steps) SMOE_DO(add_step(inner));
  return {};
}

std::string Normalizer::normalize(std::string_view text) const {
  // ASCII is in every normal form.
  if (steps_.empty() || is_ascii(text)) return std::string(text);
  std::string result(text);
  for (size_t step = 0; step < steps_.size(); ++step) result = to_nfc(result);
  return result;
}

}  // namespace smoe
