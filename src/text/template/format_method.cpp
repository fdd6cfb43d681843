#include "text/template/format_method.h"

#include <algorithm>

#include "text/template/characters.h"
#include "text/template/operators.h"
#include "text/template/printing.h"

namespace smoe::jinja {
namespace {

class BraceFormatter {
 public:
  explicit BraceFormatter(Call& call) : call_(call), format_(call.self().text()) {}

  Result<Value> format() {
    const std::string_view bytes = format_.bytes();
    while (at_ < bytes.size()) {
      const size_t brace = std::min(bytes.find_first_of("{}", at_), bytes.size());
      result_.append(format_, at_, brace);
      at_ = brace;
      if (at_ >= bytes.size()) break;
      if (at_ + 1 < bytes.size() && bytes[at_ + 1] == bytes[at_]) {
        result_.append(format_, at_, at_ + 1);
        at_ += 2;
      } else {
        SMOE_DO(field());
      }
      SMOE_DO(call_.run().spend_bytes(result_.size() / 16));
    }
    return Value(std::move(result_));
  }

 private:
  using Text = std::string_view;

  Status field() {
    const Text bytes = format_.bytes();
    const size_t close = bytes.find('}', at_);
    if (bytes[at_] == '}' || close == Text::npos)
      return type_error("a single brace in a format string");
    const Text content = bytes.substr(at_ + 1, close - at_ - 1);
    if (content.find_first_of("{!") != Text::npos)
      return type_error("nested fields and conversions in a format string are not supported");
    at_ = close + 1;
    const size_t colon = std::min(content.find(':'), content.size());
    SMOE_TRY(const Value value, argument(content.substr(0, colon)));
    const Text spec = colon < content.size() ? content.substr(colon + 1) : Text();
    return print(value, spec);
  }

  Result<Value> argument(Text name) {
    const size_t end = std::min(name.find_first_of(".["), name.size());
    SMOE_TRY(Value value, first_argument(name.substr(0, end)));
    name.remove_prefix(end);
    while (!name.empty()) {
      const bool is_attribute = name[0] == '.';
      const size_t stop =
          is_attribute ? std::min(name.find_first_of(".[", 1), name.size()) : name.find(']');
      if (stop == Text::npos) return type_error("missing ']' in a format string");
      const Text key = name.substr(1, stop - 1);
      const auto index = parse_integer(key, 10);
      SMOE_TRY(value, get_item(value, index && !is_attribute ? *index : Value::of_template(key)));
      name.remove_prefix(is_attribute ? stop : stop + 1);
    }
    return value;
  }

  Result<Value> first_argument(Text name) {
    const Values& positional = call_.arguments().positional;
    std::optional<Value> index;
    if (name.empty()) {
      index = Value(next_++);
    } else {
      index = parse_integer(name, 10);
    }
    if (index) {
      const auto at = index->small_int();
      if (!at || *at < 0 || static_cast<size_t>(*at) >= positional.size())
        return type_error("a format string asks for an argument that was not given");
      return positional[static_cast<size_t>(*at)];
    }
    for (const Keyword& keyword : call_.arguments().keywords)
      if (keyword.name == name) return keyword.value;
    return type_error("a format string asks for '" + std::string(name) + "', which was not given");
  }

  // Hands the work to `%`, whose directives mean the same for what is supported here.
  Status print(const Value& value, Text spec) {
    if (spec.empty()) {
      SMOE_TRY(const MarkedText text, to_text(call_.run(), value));
      result_.append(text);
      return {};
    }
    const bool is_number = value.is_number();
    char align = is_number ? '>' : '<';
    if (spec[0] == '<' || spec[0] == '>') {
      align = spec[0];
      spec.remove_prefix(1);
    }
    std::string directive = align == '<' ? "%-" : "%";
    char type = value.is_float() ? 'g' : is_number ? 'd' : 's';
    if (!spec.empty() && Text("dfeEgGxXos").find(spec.back()) != Text::npos) {
      type = spec.back();
      spec.remove_suffix(1);
    } else if (value.is_float()) {
      return type_error("a format of a float needs its type");
    }
    if (spec.find_first_not_of("0123456789.+ #") != Text::npos || is_number != (type != 's'))
      return type_error("this format specification is not supported");
    directive.append(spec);
    directive += type;
    SMOE_TRY(const Value one, make_tuple({value}));
    SMOE_TRY(const MarkedText text,
             percent_format(call_.run(), MarkedText(directive, Origin::kTemplate), one));
    result_.append(text);
    return {};
  }

  Call& call_;
  const MarkedText& format_;
  size_t at_ = 0;
  int64_t next_ = 0;
  MarkedText result_;
};

}  // namespace

Result<Value> format_method(Call& call) { return BraceFormatter(call).format(); }

}  // namespace smoe::jinja
