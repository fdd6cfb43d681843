// Filters that make text.
#include <algorithm>

#include "base/json.h"
#include "text/template/characters.h"
#include "text/template/operators.h"
#include "text/template/printing.h"
#include "text/template/tables.h"
#include "text/template/text_operations.h"
#include "text/utf8.h"

namespace smoe::jinja {
namespace {

using Answer = Result<Value>;

// What Jinja's soft_str() makes of the value.
Result<MarkedText> text_of_self(const Call& call) { return to_text(call.run(), call.self()); }

Result<MarkedText> text_of_argument(const Call& call, size_t parameter,
                                    std::string_view otherwise) {
  if (call.at(parameter) == nullptr) return MarkedText(std::string(otherwise), Origin::kTemplate);
  return to_text(call.run(), *call.at(parameter));
}

template <Letters kLetters>
Answer case_filter(Call& call) {
  SMOE_TRY(const MarkedText text, text_of_self(call));
  return Value(change_case(text, kLetters));
}

// A word begins behind white space and some brackets, not behind every other character as in
// str.title().
Answer title_filter(Call& call) {
  SMOE_TRY(const MarkedText text, text_of_self(call));
  MarkedText result;
  const std::string_view bytes = text.bytes();
  const auto separates = [&](size_t at) {
    const Utf8Step step = utf8_step(bytes, at);
    return is_python_space(step.code_point) ||
           std::string_view("-({[<").find(bytes[at]) != std::string_view::npos;
  };
  for (size_t at = 0; at < bytes.size();) {
    size_t end = at;
    const bool separator = separates(at);
    while (end < bytes.size() && separates(end) == separator) end += utf8_step(bytes, end).bytes;
    const size_t first = at + utf8_step(bytes, at).bytes;
    result.append(change_case(text.slice(at, first), Letters::kUpper));
    result.append(change_case(text.slice(first, end), Letters::kLower));
    at = end;
  }
  return Value(std::move(result));
}

Answer string_filter(Call& call) {
  if (call.self().is_string()) return call.self();
  SMOE_TRY(MarkedText text, text_of_self(call));
  return Value(std::move(text));
}

Answer trim_filter(Call& call) {
  SMOE_TRY(const MarkedText text, text_of_self(call));
  const Value* characters = call.at(0);
  if (characters == nullptr || characters->is_none())
    return Value(strip(text, nullptr, Side::kBoth));
  SMOE_TRY(const MarkedText* given, call.text(0));
  return Value(strip(text, given, Side::kBoth));
}

Answer replace_filter(Call& call) {
  SMOE_TRY(const MarkedText text, text_of_self(call));
  SMOE_TRY(const MarkedText from, text_of_argument(call, 0, ""));
  SMOE_TRY(const MarkedText to, text_of_argument(call, 1, ""));
  SMOE_TRY(const int64_t count, call.integer(2, -1, true));
  SMOE_TRY(MarkedText result, replace(call.run(), text, from, to, count));
  return Value(std::move(result));
}

Result<MarkedText> indentation(const Call& call) {
  if (call.at(0) != nullptr && call.at(0)->is_string()) return call.at(0)->text();
  SMOE_TRY(const int64_t width, call.integer(0, 4));
  if (width > static_cast<int64_t>(call.run().limits().output_bytes))
    return call.wrong("the result would be larger than the limit");
  SMOE_DO(call.run().spend_bytes(static_cast<uint64_t>(std::max<int64_t>(width, 0))));
  return MarkedText(std::string(static_cast<size_t>(std::max<int64_t>(width, 0)), ' '),
                    Origin::kTemplate);
}

Answer indent_filter(Call& call) {
  SMOE_TRY(const MarkedText* given, call.self_text());
  SMOE_TRY(const MarkedText indent, indentation(call));
  const bool blank = call.flag(2, false);
  MarkedText text = *given;
  // The newline that Jinja adds keeps a last empty line.
  text.append("\n", Origin::kTemplate);
  SMOE_DO(call.run().spend_items(text.size()));
  const Values lines = split_lines(text, false);
  MarkedText result;
  for (size_t i = 0; i < lines.size(); ++i) {
    const MarkedText& line = lines[i].text();
    if (i > 0) result.append("\n", Origin::kTemplate);
    const bool indented = i == 0 ? call.flag(1, false) : blank || !line.empty();
    SMOE_DO(call.run().spend_bytes(line.size() + indent.size()));
    if (result.size() > call.run().limits().output_bytes)
      return call.wrong("the result is larger than the limit");
    if (indented) result.append(indent);
    result.append(line);
  }
  return Value(std::move(result));
}

Answer center_filter(Call& call) {
  SMOE_TRY(MarkedText text, text_of_self(call));
  SMOE_TRY(const int64_t width, call.integer(0, 80));
  Arguments arguments;
  arguments.positional.push_back(Value(width));
  const Value value(std::move(text));
  return invoke(call.run(), *find_method(value, "center"), value, arguments);
}

Answer truncate_filter(Call& call) {
  SMOE_TRY(const int64_t length, call.integer(0, 255));
  SMOE_TRY(const MarkedText end, text_of_argument(call, 2, "..."));
  SMOE_TRY(const int64_t leeway, call.integer(3, 5, true));
  const auto end_characters = static_cast<int64_t>(count_characters(end.bytes()));
  if (length < end_characters || leeway < 0) return call.wrong("the length is too small");
  SMOE_TRY(const int64_t count, length_of(call.self()));
  if (count <= length || count - length <= leeway) return call.self();
  SMOE_TRY(const MarkedText* text, call.self_text());
  SMOE_DO(call.run().spend_bytes(text->size()));
  const auto kept = static_cast<size_t>(length - end_characters);
  MarkedText result = text->slice(0, offset_of_character(text->bytes(), kept));
  if (!call.flag(1, false)) {
    const size_t space = result.bytes().rfind(' ');
    if (space != std::string_view::npos) result = result.slice(0, space);
  }
  result.append(end);
  return Value(std::move(result));
}

Answer wordcount_filter(Call& call) {
  SMOE_TRY(const MarkedText text, text_of_self(call));
  int64_t words = 0;
  bool inside = false;
  for (size_t at = 0; at < text.size();) {
    const Utf8Step step = utf8_step(text.bytes(), at);
    const bool is_part = all_alnum(text.bytes().substr(at, step.bytes)) || text.bytes()[at] == '_';
    if (is_part && !inside) ++words;
    inside = is_part;
    at += step.bytes;
  }
  return Value(words);
}

Answer escape_filter(Call& call) {
  SMOE_TRY(const MarkedText text, text_of_self(call));
  constexpr std::string_view kSpecial = "&<>'\"";
  constexpr std::string_view kEscapes[] = {"&amp;", "&lt;", "&gt;", "&#39;", "&#34;"};
  SMOE_DO(call.run().spend_bytes(text.size()));
  MarkedText result;
  for (size_t at = 0; at < text.size();) {
    const size_t special = std::min(text.bytes().find_first_of(kSpecial, at), text.size());
    result.append(text, at, special);
    at = special;
    if (at >= text.size()) break;
    result.append(kEscapes[kSpecial.find(text.bytes()[at])], text.origin_at(at));
    ++at;
  }
  return Value(std::move(result));
}

Answer format_filter(Call& call) {
  SMOE_TRY(const MarkedText text, text_of_self(call));
  const Arguments& arguments = call.arguments();
  if (!arguments.positional.empty() && !arguments.keywords.empty())
    return call.wrong("takes arguments by position or by name, not both");
  Value values;
  if (!arguments.keywords.empty()) {
    Dict dict;
    for (const Keyword& keyword : arguments.keywords)
      SMOE_DO(dict.set(Value::of_template(keyword.name), keyword.value));
    SMOE_TRY(values, make_dict(std::move(dict)));
  } else {
    SMOE_TRY(values, make_tuple(arguments.positional));
  }
  SMOE_TRY(MarkedText result, percent_format(call.run(), text, values));
  return Value(std::move(result));
}

Status read_separators(const Call& call, const Value& pair, JsonStyle& style) {
  if (!pair.is_sequence() || pair.sequence()->items.size() != 2 ||
      !pair.sequence()->items[0].is_string() || !pair.sequence()->items[1].is_string())
    return call.wrong("separators must be two strings");
  style.item_separator = pair.sequence()->items[0].bytes();
  style.key_separator = pair.sequence()->items[1].bytes();
  return {};
}

Answer tojson_filter(Call& call) {
  JsonStyle style;
  style.ensure_ascii = call.flag(0, false);
  style.sort_keys = call.flag(3, false);
  const Value* indent = call.at(1);
  if (indent != nullptr && !indent->is_none()) {
    style.indented = true;
    style.item_separator = ",";
    if (indent->is_string()) {
      style.indent = indent->bytes();
    } else {
      SMOE_TRY(const int64_t width, call.integer(1, 0));
      if (width > 1000) return call.wrong("an indent of more than 1000 is not supported");
      style.indent.assign(static_cast<size_t>(std::max<int64_t>(width, 0)), ' ');
    }
  }
  if (call.at(2) != nullptr && !call.at(2)->is_none())
    SMOE_DO(read_separators(call, *call.at(2), style));
  SMOE_TRY(MarkedText text, to_json(call.run(), call.self(), style));
  return Value(std::move(text));
}

// The strings in it are as trustworthy as the text they come from.
Answer fromjson_filter(Call& call) {
  SMOE_TRY(const MarkedText* text, call.self_text());
  SMOE_DO(call.run().spend_items(text->size()));
  const auto json = Json::parse(text->bytes(), {.max_depth = 64, .unique_keys = false});
  if (!json) return call.wrong(json.error().message);
  return Value::from_json(*json, text->weakest_origin());
}

constexpr Routine kTextFilters[] = {
    {"capitalize", "", case_filter<Letters::kCapitalized>},
    {"center", "width?", center_filter},
    {"e", "", escape_filter},
    {"escape", "", escape_filter},
    {"format", "*", format_filter},
    {"fromjson", "", fromjson_filter},
    {"indent", "width?,first?,blank?", indent_filter},
    {"lower", "", case_filter<Letters::kLower>},
    {"replace", "old,new,count?", replace_filter},
    {"safe", "", string_filter},
    {"string", "", string_filter},
    {"title", "", title_filter},
    {"tojson", "ensure_ascii?,indent?,separators?,sort_keys?", tojson_filter},
    {"trim", "chars?", trim_filter},
    {"truncate", "length?,killwords?,end?,leeway?", truncate_filter},
    {"upper", "", case_filter<Letters::kUpper>},
    {"wordcount", "", wordcount_filter},
};

}  // namespace

std::span<const Routine> text_filters() { return kTextFilters; }

}  // namespace smoe::jinja
