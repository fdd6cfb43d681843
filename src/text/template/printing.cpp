#include "text/template/printing.h"

#include <fmt/format.h>

#include <algorithm>

#include "text/template/characters.h"
#include "text/template/numbers.h"
#include "text/template/operators.h"
#include "text/template/routine.h"
#include "text/utf8.h"

namespace smoe::jinja {
namespace {

// Appends to one text; every character costs, so that shared values that print themselves many
// times end at the limit.
class Printer {
 public:
  explicit Printer(Run& run) : run_(run) {}

  MarkedText take() { return std::move(text_); }
  size_t size() const { return text_.size(); }

  Status add(std::string_view bytes, Origin origin = Origin::kTemplate) {
    text_.append(bytes, origin);
    return pay(bytes.size());
  }
  Status add(const MarkedText& text) {
    text_.append(text);
    return pay(text.size());
  }
  Run& run() { return run_; }

 private:
  Status pay(size_t bytes) {
    if (text_.size() > run_.limits().output_bytes) return run_.spend_bytes(text_.size());
    return run_.spend(1 + bytes / 16);
  }

  Run& run_;
  MarkedText text_;
};

std::string repr_escape(const Utf8Step& step, char quote) {
  const char32_t c = step.code_point;
  switch (c) {
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    case '\\':
      return "\\\\";
    default:
      break;
  }
  const auto number = static_cast<uint32_t>(c);
  if (c == static_cast<char32_t>(quote)) return std::string("\\") + quote;
  if (c < 0x100) return fmt::format("\\x{:02x}", number);
  return c < 0x10000 ? fmt::format("\\u{:04x}", number) : fmt::format("\\U{:08x}", number);
}

Status repr_string(Printer& to, const MarkedText& text) {
  const std::string_view bytes = text.bytes();
  const bool has_single = bytes.find('\'') != std::string_view::npos;
  const bool has_double = bytes.find('"') != std::string_view::npos;
  const char quote = has_single && !has_double ? '"' : '\'';
  MarkedText quoted;
  quoted.append({&quote, 1}, Origin::kTemplate);
  for (size_t at = 0; at < bytes.size();) {
    const Utf8Step step = utf8_step(bytes, at);
    const bool plain = is_printable(step.code_point) && step.code_point != '\\' &&
                       step.code_point != static_cast<char32_t>(quote);
    quoted.append(plain ? std::string(bytes.substr(at, step.bytes)) : repr_escape(step, quote),
                  text.origin_at(at));
    at += step.bytes;
  }
  quoted.append({&quote, 1}, Origin::kTemplate);
  return to.add(quoted);
}

Status repr(Printer& to, const Value& value, int depth);

Status repr_items(Printer& to, const Values& items, int depth) {
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) SMOE_DO(to.add(", "));
    SMOE_DO(repr(to, items[i], depth + 1));
  }
  return {};
}

std::string range_text(const Sequence::Range& range) {
  if (range.step == 1) return fmt::format("range({}, {})", range.begin, range.end);
  return fmt::format("range({}, {}, {})", range.begin, range.end, range.step);
}

Status repr_sequence(Printer& to, const Sequence& sequence, int depth) {
  if (sequence.flavor == Sequence::Flavor::kGenerator) return to.add("<generator object>");
  if (sequence.flavor == Sequence::Flavor::kRange) return to.add(range_text(sequence.range));
  if (sequence.flavor == Sequence::Flavor::kTuple) {
    SMOE_DO(to.add("("));
    SMOE_DO(repr_items(to, sequence.items, depth));
    return to.add(sequence.items.size() == 1 ? ",)" : ")");
  }
  const bool is_list = sequence.flavor == Sequence::Flavor::kList;
  if (!is_list) {
    constexpr std::string_view kViews[] = {"dict_keys([", "dict_values([", "dict_items(["};
    SMOE_DO(to.add(kViews[static_cast<size_t>(sequence.flavor) -
                          static_cast<size_t>(Sequence::Flavor::kKeys)]));
  } else {
    SMOE_DO(to.add("["));
  }
  SMOE_DO(repr_items(to, sequence.items, depth));
  return to.add(is_list ? "]" : "])");
}

Status repr_dict(Printer& to, const Dict& dict, int depth) {
  SMOE_DO(to.add("{"));
  for (size_t i = 0; i < dict.size(); ++i) {
    if (i > 0) SMOE_DO(to.add(", "));
    SMOE_DO(repr(to, dict.entries()[i].key, depth + 1));
    SMOE_DO(to.add(": "));
    SMOE_DO(repr(to, dict.entries()[i].value, depth + 1));
  }
  return to.add("}");
}

Status repr_namespace(Printer& to, const Namespace& space, int depth) {
  SMOE_DO(to.add("<Namespace {"));
  for (size_t i = 0; i < space.attributes.size(); ++i) {
    if (i > 0) SMOE_DO(to.add(", "));
    SMOE_DO(repr_string(to, MarkedText(space.attributes[i].first, Origin::kTemplate)));
    SMOE_DO(to.add(": "));
    SMOE_DO(repr(to, space.attributes[i].second, depth + 1));
  }
  return to.add("}>");
}

Status repr(Printer& to, const Value& value, int depth) {
  // Only a namespace that holds itself gets here.
  if (depth > 2 * kMaxValueDepth) return Error{Code::kUsage, "a value that holds itself"};
  switch (value.kind()) {
    case Value::Kind::kUndefined:
      return to.add("Undefined");
    case Value::Kind::kNone:
      return to.add("None");
    case Value::Kind::kBool:
    case Value::Kind::kInt:
    case Value::Kind::kBigInt:
    case Value::Kind::kFloat:
      return to.add(number_text(value));
    case Value::Kind::kString:
      return repr_string(to, value.text());
    case Value::Kind::kSequence:
      return repr_sequence(to, *value.sequence(), depth);
    case Value::Kind::kDict:
      return repr_dict(to, value.dict(), depth);
    case Value::Kind::kNamespace:
      return repr_namespace(to, *value.space(), depth);
    case Value::Kind::kLoop:
      return to.add(fmt::format("<LoopContext {}/{}>", value.loop()->position + 1,
                                value.loop()->items->items.size()));
    case Value::Kind::kCallable:
      return to.add("<function>");
  }
  return {};
}

class JsonPrinter {
 public:
  JsonPrinter(Printer& to, const JsonStyle& style) : to_(to), style_(style) {}

  Status print(const Value& value, size_t level) {
    switch (value.kind()) {
      case Value::Kind::kNone:
        return to_.add("null");
      case Value::Kind::kBool:
        return to_.add(value.boolean() ? "true" : "false");
      case Value::Kind::kInt:
      case Value::Kind::kBigInt:
        return to_.add(number_text(value));
      case Value::Kind::kFloat:
        return to_.add(float_json(value.floating()));
      case Value::Kind::kString:
        return print_string(value.text());
      case Value::Kind::kDict:
        return print_dict(value.dict(), level);
      case Value::Kind::kSequence:
        if (value.sequence()->flavor <= Sequence::Flavor::kTuple)
          return print_list(value.sequence()->items, level);
        break;
      default:
        break;
    }
    return Error{Code::kUsage,
                 "Object of type " + std::string(value.type_name()) + " is not JSON serializable"};
  }

 private:
  static std::string float_json(double number) {
    const std::string text = float_text(number);
    if (text == "nan") return "NaN";
    if (text == "inf") return "Infinity";
    return text == "-inf" ? "-Infinity" : text;
  }

  Status new_line(size_t level) {
    if (!style_.indented) return {};
    SMOE_DO(to_.add("\n"));
    for (size_t i = 0; i < level; ++i) SMOE_DO(to_.add(style_.indent));
    return {};
  }

  std::string escape(char32_t c) const {
    switch (c) {
      case '"':
        return "\\\"";
      case '\\':
        return "\\\\";
      case '\n':
        return "\\n";
      case '\r':
        return "\\r";
      case '\t':
        return "\\t";
      case '\f':
        return "\\f";
      case '\b':
        return "\\b";
      default:
        break;
    }
    const auto number = static_cast<uint32_t>(c);
    if (number < 0x10000) return fmt::format("\\u{:04x}", number);
    const uint32_t rest = number - 0x10000;
    return fmt::format("\\u{:04x}\\u{:04x}", 0xd800U + (rest >> 10), 0xdc00U + (rest & 0x3ffU));
  }

  bool needs_escape(char32_t c) const {
    return c == '"' || c == '\\' || c < 0x20 || (style_.ensure_ascii && c > 0x7e);
  }

  Status print_string(const MarkedText& text) {
    const std::string_view bytes = text.bytes();
    SMOE_DO(to_.add("\""));
    size_t plain = 0;
    for (size_t at = 0; at < bytes.size();) {
      const Utf8Step step = utf8_step(bytes, at);
      if (needs_escape(step.code_point)) {
        SMOE_DO(to_.add(text.slice(plain, at)));
        SMOE_DO(to_.add(escape(step.code_point), text.origin_at(at)));
        plain = at + step.bytes;
      }
      at += step.bytes;
    }
    SMOE_DO(to_.add(text.slice(plain, bytes.size())));
    return to_.add("\"");
  }

  Status print_key(const Value& key) {
    if (key.is_string()) return print_string(key.text());
    if (!key.is_number() && !key.is_none())
      return Error{Code::kUsage, "keys must be str, int, float, bool or None, not " +
                                     std::string(key.type_name())};
    SMOE_DO(to_.add("\""));
    SMOE_DO(print(key, 0));
    return to_.add("\"");
  }

  Status separate(bool first, size_t level) {
    if (!first) SMOE_DO(to_.add(style_.item_separator));
    return new_line(level);
  }

  Status print_list(const Values& items, size_t level) {
    if (items.empty()) return to_.add("[]");
    SMOE_DO(to_.add("["));
    for (size_t i = 0; i < items.size(); ++i) {
      SMOE_DO(separate(i == 0, level + 1));
      SMOE_DO(print(items[i], level + 1));
    }
    SMOE_DO(new_line(level));
    return to_.add("]");
  }

  Status print_dict(const Dict& dict, size_t level) {
    if (dict.size() == 0) return to_.add("{}");
    std::vector<const Dict::Entry*> entries;
    entries.reserve(dict.size());
    for (const Dict::Entry& entry : dict.entries()) entries.push_back(&entry);
    if (style_.sort_keys) SMOE_DO(sort_by_key(entries));
    SMOE_DO(to_.add("{"));
    for (size_t i = 0; i < entries.size(); ++i) {
      SMOE_DO(separate(i == 0, level + 1));
      SMOE_DO(print_key(entries[i]->key));
      SMOE_DO(to_.add(style_.key_separator));
      SMOE_DO(print(entries[i]->value, level + 1));
    }
    SMOE_DO(new_line(level));
    return to_.add("}");
  }

  Status sort_by_key(std::vector<const Dict::Entry*>& entries) {
    Status outcome;
    std::stable_sort(entries.begin(), entries.end(), [&](const auto* a, const auto* b) {
      const auto less = is_less(to_.run(), a->key, b->key);
      if (!less) outcome = less.error();
      return less && *less;
    });
    return outcome;
  }

  Printer& to_;
  const JsonStyle& style_;
};

}  // namespace

Result<MarkedText> to_text(Run& run, const Value& value) {
  if (value.is_string()) {
    SMOE_DO(run.spend_bytes(value.text().size()));
    return value.text();
  }
  if (value.is_undefined()) return MarkedText();
  return to_repr(run, value);
}

Result<MarkedText> to_repr(Run& run, const Value& value) {
  Printer printer(run);
  SMOE_DO(repr(printer, value, 0));
  return printer.take();
}

Result<MarkedText> to_json(Run& run, const Value& value, const JsonStyle& style) {
  Printer printer(run);
  SMOE_DO(JsonPrinter(printer, style).print(value, 0));
  return printer.take();
}

}  // namespace smoe::jinja
