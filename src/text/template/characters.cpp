#include "text/template/characters.h"

#include <utf8proc.h>

#include <algorithm>

#include "text/template/special_case.h"
#include "text/utf8.h"

namespace smoe::jinja {
namespace {

utf8proc_category_t category_of(char32_t code_point) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(code_point));
}

bool is_letter(char32_t code_point) {
  const auto category = category_of(code_point);
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}

bool is_cased(char32_t code_point) {
  const auto category = category_of(code_point);
  return category == UTF8PROC_CATEGORY_LU || category == UTF8PROC_CATEGORY_LL ||
         category == UTF8PROC_CATEGORY_LT;
}

// Characters that the rule of the final sigma looks through.
bool is_case_ignorable(char32_t code_point) {
  const auto category = category_of(code_point);
  return category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_ME ||
         category == UTF8PROC_CATEGORY_CF || category == UTF8PROC_CATEGORY_LM ||
         category == UTF8PROC_CATEGORY_SK || code_point == '\'' || code_point == '.' ||
         code_point == ':' || code_point == 0xb7 || code_point == 0x2019;
}

bool cased_letter_before(std::string_view text, size_t at) {
  while (at > 0) {
    at = previous_character(text, at);
    const char32_t code_point = utf8_step(text, at).code_point;
    if (!is_case_ignorable(code_point)) return is_cased(code_point);
  }
  return false;
}

bool cased_letter_after(std::string_view text, size_t at) {
  while (at < text.size()) {
    const Utf8Step step = utf8_step(text, at);
    if (!is_case_ignorable(step.code_point)) return is_cased(step.code_point);
    at += step.bytes;
  }
  return false;
}

void append_points(std::string& to, std::u32string_view points) {
  for (const char32_t point : points) append_utf8(to, point);
}

void append_upper(std::string& to, char32_t letter) {
  if (const SpecialCase* special = special_case(letter)) return append_points(to, special->upper);
  append_utf8(to, static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(letter))));
}

void append_title(std::string& to, char32_t letter) {
  if (const SpecialCase* special = special_case(letter)) return append_points(to, special->title);
  append_utf8(to, static_cast<char32_t>(utf8proc_totitle(static_cast<utf8proc_int32_t>(letter))));
}

void append_lower(std::string& to, std::string_view text, size_t at, const Utf8Step& step) {
  constexpr char32_t kSigma = 0x3a3;
  constexpr char32_t kFinalSigma = 0x3c2;
  constexpr char32_t kDottedCapitalI = 0x130;
  if (step.code_point == kDottedCapitalI) return append_points(to, U"i\u0307");
  if (step.code_point == kSigma && cased_letter_before(text, at) &&
      !cased_letter_after(text, at + step.bytes))
    return append_utf8(to, kFinalSigma);
  append_utf8(
      to, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(step.code_point))));
}

template <class Predicate>
bool all_of(std::string_view text, const Predicate& holds) {
  for (size_t at = 0; at < text.size();) {
    const Utf8Step step = utf8_step(text, at);
    if (!holds(step.code_point)) return false;
    at += step.bytes;
  }
  return !text.empty();
}

// Cased letters all of one case, and at least one of them.
bool all_cased(std::string_view text, utf8proc_category_t wanted) {
  bool found = false;
  for (size_t at = 0; at < text.size();) {
    const Utf8Step step = utf8_step(text, at);
    at += step.bytes;
    if (!is_cased(step.code_point)) continue;
    if (category_of(step.code_point) != wanted) return false;
    found = true;
  }
  return found;
}

bool is_digit(char32_t code_point) { return category_of(code_point) == UTF8PROC_CATEGORY_ND; }

}  // namespace

bool is_python_space(char32_t c) {
  return (c >= 9 && c <= 13) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f ||
         c == 0x3000;
}

size_t skip_spaces(std::string_view text, size_t at) {
  while (at < text.size()) {
    const Utf8Step step = utf8_step(text, at);
    if (!is_python_space(step.code_point)) break;
    at += step.bytes;
  }
  return at;
}

size_t spaces_before(std::string_view text, size_t end) {
  while (end > 0) {
    const size_t before = previous_character(text, end);
    if (!is_python_space(utf8_step(text, before).code_point)) break;
    end = before;
  }
  return end;
}

std::string_view strip_spaces(std::string_view text) {
  const size_t begin = skip_spaces(text, 0);
  return text.substr(begin, std::max(begin, spaces_before(text, text.size())) - begin);
}

size_t count_characters(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U;
  }));
}

std::vector<size_t> character_offsets(std::string_view text) {
  std::vector<size_t> offsets;
  offsets.reserve(text.size() + 1);
  for (size_t at = 0; at < text.size(); at += utf8_step(text, at).bytes) offsets.push_back(at);
  offsets.push_back(text.size());
  return offsets;
}

size_t offset_of_character(std::string_view text, size_t character) {
  if (is_ascii(text)) return std::min(character, text.size());
  size_t at = 0;
  for (; character > 0 && at < text.size(); --character) at += utf8_step(text, at).bytes;
  return at;
}

MarkedText change_case(const MarkedText& text, Letters letters) {
  MarkedText result;
  result.reserve(text.size());
  const std::string_view bytes = text.bytes();
  bool begins_word = true;
  std::string changed;
  for (size_t at = 0; at < bytes.size();) {
    const Utf8Step step = utf8_step(bytes, at);
    changed.clear();
    const bool to_title = (letters == Letters::kTitle && begins_word) ||
                          (letters == Letters::kCapitalized && at == 0);
    if (to_title) {
      append_title(changed, step.code_point);
    } else if (letters == Letters::kUpper ||
               (letters == Letters::kSwapped &&
                all_cased(bytes.substr(at, step.bytes), UTF8PROC_CATEGORY_LL))) {
      append_upper(changed, step.code_point);
    } else {
      append_lower(changed, bytes, at, step);
    }
    begins_word = !is_cased(step.code_point);
    result.append(changed, text.origin_at(at));
    at += step.bytes;
  }
  return result;
}

bool is_upper(std::string_view text) { return all_cased(text, UTF8PROC_CATEGORY_LU); }
bool is_lower(std::string_view text) { return all_cased(text, UTF8PROC_CATEGORY_LL); }
bool all_alpha(std::string_view text) { return all_of(text, is_letter); }
bool all_digits(std::string_view text) { return all_of(text, is_digit); }
bool all_alnum(std::string_view text) {
  return all_of(text, [](char32_t c) { return is_letter(c) || is_digit(c); });
}
bool all_spaces(std::string_view text) { return all_of(text, is_python_space); }

bool is_printable(char32_t code_point) {
  if (code_point == ' ') return true;
  const auto category = category_of(code_point);
  return category != UTF8PROC_CATEGORY_CN && category < UTF8PROC_CATEGORY_ZS;
}

bool is_identifier_start(char32_t code_point) {
  return code_point == '_' || is_letter(code_point) ||
         category_of(code_point) == UTF8PROC_CATEGORY_NL;
}

bool is_identifier_part(char32_t code_point) {
  const auto category = category_of(code_point);
  return is_identifier_start(code_point) || category == UTF8PROC_CATEGORY_MN ||
         category == UTF8PROC_CATEGORY_MC || category == UTF8PROC_CATEGORY_ND ||
         category == UTF8PROC_CATEGORY_PC;
}

}  // namespace smoe::jinja
