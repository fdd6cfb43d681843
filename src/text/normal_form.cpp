#include "text/normal_form.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/check.h"
#include "text/unicode_tables.h"
#include "text/utf8.h"

namespace smoe {
namespace {

using CodePoints = std::vector<utf8proc_int32_t>;

// No character below this one decomposes differently from how it composes, and none moves.
constexpr char32_t kFirstCombining = 0x300;

bool is_compatible(NormalForm form) {
  return form == NormalForm::kNfkc || form == NormalForm::kNfkd;
}

uint8_t combining_class(utf8proc_int32_t code_point) {
  return static_cast<uint8_t>(utf8proc_get_property(code_point)->combining_class);
}

void append_decomposed(CodePoints& to, char32_t code_point, NormalForm form) {
  constexpr utf8proc_ssize_t kLongest = 18;  // U+FDFA; no decomposition is longer
  std::array<utf8proc_int32_t, kLongest> parts{};
  int boundary = UTF8PROC_BOUNDCLASS_START;
  const auto option = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE |
                                                     (is_compatible(form) ? UTF8PROC_COMPAT : 0));
  const utf8proc_ssize_t count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(code_point),
                                                         parts.data(), kLongest, option, &boundary);
  SMOE_CHECK(count >= 0 && count <= kLongest);
  to.insert(to.end(), parts.begin(), parts.begin() + count);
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

// The normal form of decomposed `points`, which are cleared.
std::string take_normal(CodePoints& points, NormalForm form) {
  sort_marks(points);
  auto count = static_cast<utf8proc_ssize_t>(points.size());
  if (form == NormalForm::kNfc || form == NormalForm::kNfkc)
    count = utf8proc_normalize_utf32(
        points.data(), count, static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  std::string text;
  for (utf8proc_ssize_t index = 0; index < count; ++index)
    append_utf8(text, static_cast<char32_t>(points[static_cast<size_t>(index)]));
  points.clear();
  return text;
}

bool continues_character(char byte) { return (static_cast<unsigned char>(byte) & 0xc0u) == 0x80; }

// Appends what became of from[begin, end). Characters that are the same at both ends stand for
// themselves, all that is between them for the first byte of what was there.
void append_changed(SourcedText& to, const SourcedText& from, size_t begin, size_t end,
                    std::string_view normal) {
  if (!to.tracked && begin >= from.first_bytes) {
    to.text.append(normal);
    return;
  }
  const std::string_view before = std::string_view(from.text).substr(begin, end - begin);
  const size_t most = std::min(before.size(), normal.size());
  const auto boundary = [](std::string_view text, size_t at) {
    return at >= text.size() || !continues_character(text[at]);
  };
  size_t head = 0;
  while (head < most && before[head] == normal[head]) ++head;
  while (!boundary(before, head) || !boundary(normal, head)) --head;
  size_t tail = 0;
  while (tail < most - head && before[before.size() - 1 - tail] == normal[normal.size() - 1 - tail])
    ++tail;
  while (!boundary(before, before.size() - tail) || !boundary(normal, normal.size() - tail)) --tail;
  to.append(from, begin, begin + head);
  to.append(normal.substr(head, normal.size() - head - tail), from, begin + head);
  to.append(from, end - tail, end);
}

}  // namespace

SourcedText to_normal_form(const SourcedText& text, NormalForm form) {
  SourcedText result = text.empty_like();
  result.text.reserve(text.text.size());
  CodePoints pending;
  size_t pending_begin = 0;
  const auto flush = [&](size_t at) {
    if (at > pending_begin)
      append_changed(result, text, pending_begin, at, take_normal(pending, form));
    pending_begin = at;
  };
  for (size_t at = 0; at < text.text.size();) {
    const Utf8Step step = utf8_step(text.text, at);
    const bool unknown = is_unknown_to_normalization(step.code_point, is_compatible(form));
    // A starter below U+0300 ends whatever came before it, and what is unknown is a starter.
    if (unknown || step.code_point < kFirstCombining) flush(at);
    if (unknown) {
      result.append(text, at, at + step.bytes);
      pending_begin = at + step.bytes;
    } else {
      append_decomposed(pending, step.code_point, form);
    }
    at += step.bytes;
  }
  flush(text.text.size());
  return result;
}

std::string to_nfc(std::string_view text) {
  return to_normal_form({.text = std::string(text)}, NormalForm::kNfc).text;
}

}  // namespace smoe
