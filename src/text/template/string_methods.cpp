// The methods of Python's str that templates may call.
#include <algorithm>

#include "text/template/characters.h"
#include "text/template/format_method.h"
#include "text/template/operators.h"
#include "text/template/printing.h"
#include "text/template/tables.h"
#include "text/template/text_operations.h"
#include "text/utf8.h"

namespace smoe::jinja {
namespace {

using Answer = Result<Value>;

const MarkedText& self_of(const Call& call) { return call.self().text(); }

// A bool where MarkedText has a constructor of its own must not become an int.
Value boolean(bool flag) { return Value(flag); }
Value number(int64_t value) { return Value(value); }

// nullptr for an argument that is absent or None.
Result<const MarkedText*> optional_text(const Call& call, size_t parameter) {
  const Value* value = call.at(parameter);
  if (value == nullptr || value->is_none()) return nullptr;
  return call.text(parameter);
}

template <Letters kLetters>
Answer case_method(Call& call) {
  SMOE_DO(call.run().spend_bytes(self_of(call).size()));
  return Value(change_case(self_of(call), kLetters));
}

template <bool (*kPredicate)(std::string_view)>
Answer answers_of_text(Call& call) {
  SMOE_DO(call.run().spend_bytes(self_of(call).size()));
  return boolean(kPredicate(self_of(call).bytes()));
}

template <Side kSide>
Answer stripped(Call& call) {
  SMOE_DO(call.run().spend_bytes(self_of(call).size()));
  SMOE_TRY(const MarkedText* characters, optional_text(call, 0));
  return Value(strip(self_of(call), characters, kSide));
}

Answer split_method(Call& call) {
  SMOE_TRY(const MarkedText* separator, optional_text(call, 0));
  SMOE_TRY(const int64_t most, call.integer(1, -1));
  SMOE_TRY(Values parts, split(call.run(), self_of(call), separator, most));
  return make_list(std::move(parts));
}

Answer rsplit_method(Call& call) {
  SMOE_TRY(const MarkedText* separator, optional_text(call, 0));
  SMOE_TRY(const int64_t most, call.integer(1, -1));
  SMOE_TRY(Values parts, split_from_right(call.run(), self_of(call), separator, most));
  return make_list(std::move(parts));
}

Answer splitlines_method(Call& call) {
  SMOE_DO(call.run().spend_items(self_of(call).size()));
  return make_list(split_lines(self_of(call), call.flag(0, false)));
}

Answer partition_at(const MarkedText& text, size_t found, size_t length, bool rest_is_left) {
  Values parts;
  if (found == std::string_view::npos) {
    parts = {Value(MarkedText()), Value(MarkedText()), Value(MarkedText())};
    parts[rest_is_left ? 0 : 2] = Value(text);
  } else {
    parts = {Value(text.slice(0, found)), Value(text.slice(found, found + length)),
             Value(text.slice(found + length, text.size()))};
  }
  return make_tuple(std::move(parts));
}

Answer partition_method(Call& call) {
  SMOE_TRY(const MarkedText* separator, call.text(0));
  if (separator->empty()) return type_error("empty separator");
  SMOE_DO(call.run().spend_bytes(self_of(call).size()));
  return partition_at(self_of(call), self_of(call).bytes().find(separator->bytes()),
                      separator->size(), true);
}

Answer rpartition_method(Call& call) {
  SMOE_TRY(const MarkedText* separator, call.text(0));
  if (separator->empty()) return type_error("empty separator");
  SMOE_DO(call.run().spend_bytes(self_of(call).size()));
  return partition_at(self_of(call), self_of(call).bytes().rfind(separator->bytes()),
                      separator->size(), false);
}

// The part of a text that start and end arguments name, in bytes; nothing when start lies behind.
struct Window {
  size_t begin;
  std::string_view text;
};
Result<std::optional<Window>> window_of(const Call& call, size_t parameter) {
  const std::string_view bytes = self_of(call).bytes();
  SMOE_DO(call.run().spend_bytes(bytes.size()));
  const auto count = static_cast<int64_t>(count_characters(bytes));
  SMOE_TRY(int64_t begin, call.integer(parameter, 0, true));
  SMOE_TRY(int64_t end, call.integer(parameter + 1, count, true));
  if (begin < 0) begin = std::max<int64_t>(begin + count, 0);
  if (end < 0) end = std::max<int64_t>(end + count, 0);
  end = std::min(end, count);
  if (begin > end) return std::optional<Window>();
  const size_t first = offset_of_character(bytes, static_cast<size_t>(begin));
  const size_t last = offset_of_character(bytes, static_cast<size_t>(end));
  return std::optional<Window>({first, bytes.substr(first, last - first)});
}

// The character at which `what` begins, or -1.
Result<int64_t> position_of(Call& call, bool from_right) {
  SMOE_TRY(const MarkedText* what, call.text(0));
  SMOE_TRY(const std::optional<Window> window, window_of(call, 1));
  if (!window) return -1;
  const size_t found =
      from_right ? window->text.rfind(what->bytes()) : window->text.find(what->bytes());
  if (found == std::string_view::npos) return -1;
  return static_cast<int64_t>(
      count_characters(self_of(call).bytes().substr(0, window->begin + found)));
}

template <bool kFromRight>
Answer find_method(Call& call) {
  SMOE_TRY(const int64_t position, position_of(call, kFromRight));
  return number(position);
}

template <bool kFromRight>
Answer index_method(Call& call) {
  SMOE_TRY(const int64_t position, position_of(call, kFromRight));
  if (position < 0) return type_error("substring not found");
  return number(position);
}

Answer count_method(Call& call) {
  SMOE_TRY(const MarkedText* what, call.text(0));
  SMOE_TRY(const std::optional<Window> window, window_of(call, 1));
  if (!window) return number(0);
  if (what->empty()) return number(static_cast<int64_t>(count_characters(window->text)) + 1);
  int64_t count = 0;
  for (size_t at = window->text.find(what->bytes()); at != std::string_view::npos;
       at = window->text.find(what->bytes(), at + what->size()))
    ++count;
  return number(count);
}

// One prefix, or a tuple of them.
template <bool kAtEnd>
Answer has_affix(Call& call) {
  SMOE_TRY(const std::optional<Window> window, window_of(call, 1));
  const Value& wanted = *call.at(0);
  const bool is_tuple =
      wanted.is_sequence() && wanted.sequence()->flavor == Sequence::Flavor::kTuple;
  const Values choices = is_tuple ? wanted.sequence()->items : Values{wanted};
  for (const Value& choice : choices) {
    if (!choice.is_string()) return call.wrong("expected a string or a tuple of strings");
    if (!window) continue;
    if (kAtEnd ? window->text.ends_with(choice.bytes()) : window->text.starts_with(choice.bytes()))
      return boolean(true);
  }
  return boolean(false);
}

Answer removeprefix_method(Call& call) {
  SMOE_TRY(const MarkedText* prefix, call.text(0));
  const MarkedText& text = self_of(call);
  if (!text.bytes().starts_with(prefix->bytes())) return call.self();
  return Value(text.slice(prefix->size(), text.size()));
}

Answer removesuffix_method(Call& call) {
  SMOE_TRY(const MarkedText* suffix, call.text(0));
  const MarkedText& text = self_of(call);
  if (!text.bytes().ends_with(suffix->bytes())) return call.self();
  return Value(text.slice(0, text.size() - suffix->size()));
}

Answer replace_method(Call& call) {
  SMOE_TRY(const MarkedText* from, call.text(0));
  SMOE_TRY(const MarkedText* to, call.text(1));
  SMOE_TRY(const int64_t count, call.integer(2, -1));
  SMOE_TRY(MarkedText text, replace(call.run(), self_of(call), *from, *to, count));
  return Value(std::move(text));
}

Answer join_method(Call& call) {
  SMOE_TRY(const SequencePtr items, iterate(call.run(), *call.at(0)));
  std::vector<MarkedText> parts;
  parts.reserve(items->items.size());
  for (const Value& item : items->items) {
    if (!item.is_string())
      return call.wrong("expected strings, got " + std::string(item.type_name()));
    SMOE_DO(call.run().spend_bytes(item.text().size()));
    parts.push_back(item.text());
  }
  SMOE_TRY(MarkedText joined, join(call.run(), self_of(call), parts));
  return Value(std::move(joined));
}

// `fill` is one character. Appending it time and again took ten times as long.
void append_repeated(MarkedText& to, const MarkedText& fill, int64_t times) {
  std::string bytes;
  bytes.reserve(fill.size() * static_cast<size_t>(times));
  for (int64_t i = 0; i < times; ++i) bytes += fill.bytes();
  if (times > 0) to.append(bytes, fill.origin_at(0));
}

// Fills up to a width: `left` and `right` say where.
Answer padded(Call& call, bool left, bool right) {
  const MarkedText& text = self_of(call);
  SMOE_TRY(const int64_t width, call.integer(0, 0));
  MarkedText fill(" ", Origin::kTemplate);
  if (call.at(1) != nullptr) {
    SMOE_TRY(const MarkedText* given, call.text(1));
    if (count_characters(given->bytes()) != 1)
      return call.wrong("the fill character must be exactly one character long");
    fill = *given;
  }
  const int64_t missing = width - static_cast<int64_t>(count_characters(text.bytes()));
  if (missing <= 0) return call.self();
  if (missing > static_cast<int64_t>(call.run().limits().output_bytes))
    return call.wrong("the result would be larger than the limit");
  SMOE_DO(call.run().spend_bytes(text.size() + static_cast<uint64_t>(missing) * fill.size()));
  // The odd one of str.center() goes left when the width is odd too.
  const int64_t before = !left ? 0 : !right ? missing : missing / 2 + (missing & width & 1);
  MarkedText result;
  append_repeated(result, fill, before);
  result.append(text);
  append_repeated(result, fill, missing - before);
  return Value(std::move(result));
}

Answer center_method(Call& call) { return padded(call, true, true); }
Answer ljust_method(Call& call) { return padded(call, false, true); }
Answer rjust_method(Call& call) { return padded(call, true, false); }

Answer zfill_method(Call& call) {
  const MarkedText& text = self_of(call);
  SMOE_TRY(const int64_t width, call.integer(0, 0));
  const int64_t missing = width - static_cast<int64_t>(count_characters(text.bytes()));
  if (missing <= 0) return call.self();
  if (missing > static_cast<int64_t>(call.run().limits().output_bytes))
    return call.wrong("the result would be larger than the limit");
  SMOE_DO(call.run().spend_bytes(text.size() + static_cast<uint64_t>(missing)));
  const bool has_sign = text.bytes().starts_with('-') || text.bytes().starts_with('+');
  MarkedText result = text.slice(0, has_sign ? 1 : 0);
  result.append(std::string(static_cast<size_t>(missing), '0'), Origin::kTemplate);
  result.append(text, has_sign ? 1 : 0, text.size());
  return Value(std::move(result));
}

Answer expandtabs_method(Call& call) {
  SMOE_TRY(const int64_t width, call.integer(0, 8));
  if (width > 1000) return call.wrong("tabs wider than 1000 are not supported");
  const MarkedText& text = self_of(call);
  MarkedText result;
  int64_t column = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t next = at + utf8_step(text.bytes(), at).bytes;
    const char c = text.bytes()[at];
    if (c == '\t') {
      const int64_t spaces = width > 0 ? width - column % width : 0;
      SMOE_DO(call.run().spend_bytes(result.size() / 16 + 1));
      result.append(std::string(static_cast<size_t>(spaces), ' '), text.origin_at(at));
      column += spaces;
    } else {
      result.append(text, at, next);
      column = c == '\n' || c == '\r' ? 0 : column + 1;
    }
    at = next;
  }
  return Value(std::move(result));
}

Answer isascii_method(Call& call) { return boolean(is_ascii(self_of(call).bytes())); }

bool is_title(std::string_view text) {
  const MarkedText marked(std::string(text), Origin::kTemplate);
  const auto any_case = [](std::string_view each) {
    return change_case(MarkedText(std::string(each), Origin::kTemplate), Letters::kSwapped)
               .bytes() != each;
  };
  return any_case(text) && change_case(marked, Letters::kTitle) == marked;
}

bool is_python_identifier(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const Utf8Step step = utf8_step(text, at);
    if (at == 0 ? !is_identifier_start(step.code_point) : !is_identifier_part(step.code_point))
      return false;
    at += step.bytes;
  }
  return !text.empty();
}

bool all_printable(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const Utf8Step step = utf8_step(text, at);
    if (!is_printable(step.code_point)) return false;
    at += step.bytes;
  }
  return true;
}

constexpr std::string_view kAffixSignature = "affix,start?,end?,/";
constexpr std::string_view kFindSignature = "sub,start?,end?,/";

constexpr Routine kMethods[] = {
    {"capitalize", "", case_method<Letters::kCapitalized>},
    {"center", "width,fillchar?,/", center_method},
    {"count", kFindSignature, count_method},
    {"endswith", kAffixSignature, has_affix<true>},
    {"expandtabs", "tabsize?", expandtabs_method},
    {"find", kFindSignature, find_method<false>},
    {"format", "*", format_method},
    {"index", kFindSignature, index_method<false>},
    {"isalnum", "", answers_of_text<all_alnum>},
    {"isalpha", "", answers_of_text<all_alpha>},
    {"isascii", "", isascii_method},
    {"isdecimal", "", answers_of_text<all_digits>},
    {"isdigit", "", answers_of_text<all_digits>},
    {"isidentifier", "", answers_of_text<is_python_identifier>},
    {"islower", "", answers_of_text<is_lower>},
    {"isnumeric", "", answers_of_text<all_digits>},
    {"isprintable", "", answers_of_text<all_printable>},
    {"isspace", "", answers_of_text<all_spaces>},
    {"istitle", "", answers_of_text<is_title>},
    {"isupper", "", answers_of_text<is_upper>},
    {"join", "iterable,/", join_method},
    {"ljust", "width,fillchar?,/", ljust_method},
    {"lower", "", case_method<Letters::kLower>},
    {"lstrip", "chars?,/", stripped<Side::kLeft>},
    {"partition", "sep,/", partition_method},
    {"removeprefix", "prefix,/", removeprefix_method},
    {"removesuffix", "suffix,/", removesuffix_method},
    {"replace", "old,new,count?,/", replace_method},
    {"rfind", kFindSignature, find_method<true>},
    {"rindex", kFindSignature, index_method<true>},
    {"rjust", "width,fillchar?,/", rjust_method},
    {"rpartition", "sep,/", rpartition_method},
    {"rsplit", "sep?,maxsplit?", rsplit_method},
    {"rstrip", "chars?,/", stripped<Side::kRight>},
    {"split", "sep?,maxsplit?", split_method},
    {"splitlines", "keepends?", splitlines_method},
    {"startswith", kAffixSignature, has_affix<false>},
    {"strip", "chars?,/", stripped<Side::kBoth>},
    {"swapcase", "", case_method<Letters::kSwapped>},
    {"title", "", case_method<Letters::kTitle>},
    {"upper", "", case_method<Letters::kUpper>},
    {"zfill", "width,/", zfill_method},
};

}  // namespace

std::span<const Routine> string_methods() { return kMethods; }

}  // namespace smoe::jinja
