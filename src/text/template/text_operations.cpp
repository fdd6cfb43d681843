#include "text/template/text_operations.h"

#include <algorithm>

#include "text/template/characters.h"
#include "text/template/operators.h"
#include "text/utf8.h"

namespace smoe::jinja {
namespace {

// Whether the character at `at` is one of `characters`, or white space when there are none.
bool is_among(std::string_view text, size_t at, const MarkedText* characters) {
  const Utf8Step step = utf8_step(text, at);
  if (characters == nullptr) return is_python_space(step.code_point);
  return characters->bytes().find(text.substr(at, step.bytes)) != std::string_view::npos;
}

bool is_line_end(char32_t c) {
  return (c >= 10 && c <= 13) || (c >= 0x1c && c <= 0x1e) || c == 0x85 || c == 0x2028 ||
         c == 0x2029;
}

void add_slice(Values& to, const MarkedText& text, size_t begin, size_t end) {
  to.push_back(Value(text.slice(begin, end)));
}

Values split_at_spaces(const MarkedText& text, int64_t most) {
  const std::string_view bytes = text.bytes();
  Values parts;
  size_t at = skip_spaces(bytes, 0);
  while (at < bytes.size()) {
    if (most >= 0 && static_cast<int64_t>(parts.size()) >= most) {
      add_slice(parts, text, at, bytes.size());
      break;
    }
    size_t end = at;
    while (end < bytes.size() && !is_among(bytes, end, nullptr)) end += utf8_step(bytes, end).bytes;
    add_slice(parts, text, at, end);
    at = skip_spaces(bytes, end);
  }
  return parts;
}

Values split_at_spaces_from_right(const MarkedText& text, int64_t most) {
  const std::string_view bytes = text.bytes();
  Values parts;
  size_t end = spaces_before(bytes, bytes.size());
  while (end > 0) {
    if (most >= 0 && static_cast<int64_t>(parts.size()) >= most) {
      add_slice(parts, text, 0, end);
      break;
    }
    size_t begin = end;
    while (begin > 0) {
      const size_t before = previous_character(bytes, begin);
      if (is_among(bytes, before, nullptr)) break;
      begin = before;
    }
    add_slice(parts, text, begin, end);
    end = spaces_before(bytes, begin);
  }
  std::reverse(parts.begin(), parts.end());
  return parts;
}

// "" is found before each character and at the end.
Result<MarkedText> put_between(Run& run, const MarkedText& text, const MarkedText& what,
                               int64_t count) {
  SMOE_DO(run.spend_bytes(text.size() + (count_characters(text.bytes()) + 1) * what.size()));
  MarkedText result;
  size_t at = 0;
  for (; count != 0; --count) {
    result.append(what);
    if (at >= text.size()) break;
    const size_t next = at + utf8_step(text.bytes(), at).bytes;
    result.append(text, at, next);
    at = next;
  }
  result.append(text, at, text.size());
  return result;
}

}  // namespace

MarkedText strip(const MarkedText& text, const MarkedText* characters, Side side) {
  const std::string_view bytes = text.bytes();
  size_t begin = 0;
  size_t end = bytes.size();
  if (side != Side::kRight)
    while (begin < end && is_among(bytes, begin, characters))
      begin += utf8_step(bytes, begin).bytes;
  if (side != Side::kLeft) {
    while (end > begin) {
      const size_t before = previous_character(bytes, end);
      if (!is_among(bytes, before, characters)) break;
      end = before;
    }
  }
  return text.slice(begin, end);
}

Result<MarkedText> replace(Run& run, const MarkedText& text, const MarkedText& from,
                           const MarkedText& to, int64_t count) {
  if (from.empty()) return put_between(run, text, to, count);
  SMOE_DO(run.spend_bytes(text.size()));
  MarkedText result;
  size_t at = 0;
  for (; count != 0; --count) {
    const size_t found = text.bytes().find(from.bytes(), at);
    if (found == std::string_view::npos) break;
    SMOE_DO(run.spend_bytes(to.size()));
    if (result.size() + to.size() > run.limits().output_bytes)
      return type_error("a text after replace() is larger than the limit");
    result.append(text, at, found);
    result.append(to);
    at = found + from.size();
  }
  result.append(text, at, text.size());
  return result;
}

Result<Values> split(Run& run, const MarkedText& text, const MarkedText* separator, int64_t most) {
  SMOE_DO(run.spend_items(text.size()));
  if (separator == nullptr) return split_at_spaces(text, most);
  if (separator->empty()) return type_error("empty separator");
  Values parts;
  size_t at = 0;
  for (; most != 0; --most) {
    const size_t found = text.bytes().find(separator->bytes(), at);
    if (found == std::string_view::npos) break;
    add_slice(parts, text, at, found);
    at = found + separator->size();
  }
  add_slice(parts, text, at, text.size());
  return parts;
}

Result<Values> split_from_right(Run& run, const MarkedText& text, const MarkedText* separator,
                                int64_t most) {
  SMOE_DO(run.spend_items(text.size()));
  if (separator == nullptr) return split_at_spaces_from_right(text, most);
  if (separator->empty()) return type_error("empty separator");
  Values parts;
  size_t end = text.size();
  for (; most != 0; --most) {
    const size_t found = text.bytes().substr(0, end).rfind(separator->bytes());
    if (found == std::string_view::npos) break;
    add_slice(parts, text, found + separator->size(), end);
    end = found;
  }
  add_slice(parts, text, 0, end);
  std::reverse(parts.begin(), parts.end());
  return parts;
}

Values split_lines(const MarkedText& text, bool keep_ends) {
  const std::string_view bytes = text.bytes();
  Values lines;
  size_t begin = 0;
  for (size_t at = 0; at < bytes.size();) {
    const Utf8Step step = utf8_step(bytes, at);
    size_t next = at + step.bytes;
    if (is_line_end(step.code_point)) {
      if (bytes[at] == '\r' && next < bytes.size() && bytes[next] == '\n') ++next;
      add_slice(lines, text, begin, keep_ends ? next : at);
      begin = next;
    }
    at = next;
  }
  if (begin < bytes.size()) add_slice(lines, text, begin, bytes.size());
  return lines;
}

Result<MarkedText> join(Run& run, const MarkedText& separator,
                        const std::vector<MarkedText>& parts) {
  MarkedText joined;
  for (size_t i = 0; i < parts.size(); ++i) {
    SMOE_DO(run.spend_bytes(parts[i].size() + separator.size()));
    if (i > 0) joined.append(separator);
    joined.append(parts[i]);
    if (joined.size() > run.limits().output_bytes)
      return type_error("a joined text is larger than the limit");
  }
  return joined;
}

}  // namespace smoe::jinja
