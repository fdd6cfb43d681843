#include "server/tool_calls/call_stream.h"

#include <algorithm>

#include "base/json_text.h"
#include "server/tool_calls/marks.h"
#include "server/tool_calls/readers.h"

namespace smoe::server {
namespace {

using HeadState = CallHead::State;

CallHead undecided() { return {}; }
CallHead other() { return {.state = HeadState::kOther}; }

// Walks along the beginning of a call; once something is missing or different, it stays there.
class HeadReader {
 public:
  explicit HeadReader(std::string_view text) : rest_(text), bytes_(text.size()) {}

  void blanks() {
    if (!fits()) return;
    rest_.remove_prefix(std::min(rest_.find_first_not_of(kBlank), rest_.size()));
  }
  void literal(std::string_view expected) {
    if (!fits()) return;
    const size_t common = std::min(rest_.size(), expected.size());
    if (rest_.substr(0, common) != expected.substr(0, common)) {
      state_ = HeadState::kOther;
    } else if (common < expected.size()) {
      state_ = HeadState::kOpen;
    } else {
      rest_.remove_prefix(common);
    }
  }
  // What stands before `mark`, which is taken as well.
  std::string_view until(std::string_view mark) {
    if (!fits()) return {};
    const size_t at = rest_.find(mark);
    if (at == std::string_view::npos) {
      state_ = HeadState::kOpen;
      return {};
    }
    const std::string_view before = rest_.substr(0, at);
    rest_.remove_prefix(at + mark.size());
    return before;
  }
  // A JSON string without escapes, as names of functions are.
  std::string_view plain_string() {
    literal("\"");
    const std::string_view name = until("\"");
    if (fits() && name.find('\\') != std::string_view::npos) state_ = HeadState::kOther;
    return name;
  }
  bool starts_with(std::string_view text) const { return rest_.starts_with(text); }
  bool fits() const { return state_ == HeadState::kFound; }

  CallHead found(std::string_view name) const {
    if (fits() && name.empty()) return other();
    return {state_, fits() ? std::string(name) : "", bytes_ - rest_.size()};
  }

 private:
  std::string_view rest_;
  size_t bytes_;
  HeadState state_ = HeadState::kFound;
};

// The arguments begin here when they are an object.
CallHead before_object(HeadReader reader, std::string_view name) {
  reader.blanks();
  HeadReader ahead = reader;
  ahead.literal("{");
  return ahead.fits() ? reader.found(name) : ahead.found(name);
}

// An end of `text` that begins `mark`.
size_t begun_bytes(std::string_view text, std::string_view mark) {
  for (size_t n = std::min(text.size(), mark.size() - 1); n > 0; --n)
    if (text.ends_with(mark.substr(0, n))) return n;
  return 0;
}

bool is_text_schema(const Json* schema) {
  const Json* type = schema == nullptr ? nullptr : schema->find("type");
  return type != nullptr && type->as_string() == "string";
}

std::string unquoted_json(std::string_view text) {
  const std::string quoted = json_quote(text);
  return quoted.substr(1, quoted.size() - 2);
}

}  // namespace

CallHead json_call_head(std::string_view text) {
  HeadReader reader(text);
  reader.blanks();
  reader.literal("{");
  reader.blanks();
  reader.literal("\"name\"");
  reader.blanks();
  reader.literal(":");
  reader.blanks();
  const std::string_view name = reader.plain_string();
  reader.blanks();
  reader.literal(",");
  reader.blanks();
  reader.literal(reader.starts_with("\"p") ? "\"parameters\"" : "\"arguments\"");
  reader.blanks();
  reader.literal(":");
  return before_object(reader, name);
}

CallHead xml_call_head(std::string_view text) {
  HeadReader reader(text);
  reader.blanks();
  reader.literal(kFunctionOpen);
  const std::string_view name = reader.until(">");
  return reader.found(trimmed(name));
}

CallHead pair_call_head(std::string_view text) {
  HeadReader reader(text);
  const std::string_view name = trimmed(reader.until(kKeyOpen));
  if (!reader.fits()) return undecided();
  if (name.empty() || name.find_first_of("{}<> \n") != std::string_view::npos) return other();
  CallHead head = reader.found(name);
  head.bytes -= kKeyOpen.size();
  return head;
}

CallHead deepseek_call_head(std::string_view text) {
  HeadReader reader(text);
  reader.blanks();
  reader.literal(kCallBegin);
  std::string_view name = trimmed(reader.until(kCallSeparator));
  if (name == "function") {  // the older spelling: the name follows, the object in a fence
    name = trimmed(reader.until("\n"));
    reader.blanks();
    reader.literal("```json");
  }
  return before_object(reader, name);
}

CallHead channel_call_head(std::string_view text) {
  HeadReader reader(text);
  const std::string_view head = reader.until(kMessageMark);
  return before_object(reader, head.substr(0, head.find_first_of(" <")));
}

CallArguments::CallArguments(const ToolFormat& format, const Json& tools, std::string_view function)
    : format_(format),
      properties_(properties_of(tools, function)),
      state_(format.pairs == nullptr ? State::kObject : State::kBetween) {}

std::string CallArguments::take(std::string& held, bool at_end) {
  std::string out;
  if (state_ == State::kObject) {
    out = take_object(held);
  } else {
    while (take_pair(held, at_end, out)) {
    }
  }
  if (at_end) state_ = State::kEnded;
  return out;
}

// As the model wrote it, but for blanks between its parts. Outside of strings no object has what
// every mark begins with, so a mark ends one that is broken off.
std::string CallArguments::take_object(std::string& held) {
  std::string out;
  size_t at = 0;
  for (; at < held.size() && state_ == State::kObject; ++at) {
    const char c = held[at];
    if (in_string_) {
      in_string_ = escaped_ || c != '"';
      escaped_ = !escaped_ && c == '\\';
    } else if (c == '<') {
      state_ = State::kEnded;
      break;
    } else if (kBlank.find(c) != std::string_view::npos) {
      continue;
    } else {
      in_string_ = c == '"';
      if (c == '{' || c == '[') ++depth_;
      if ((c == '}' || c == ']') && --depth_ == 0) state_ = State::kEnded;
    }
    out += c;
  }
  held.erase(0, at);
  return out;
}

bool CallArguments::take_pair(std::string& held, bool at_end, std::string& out) {
  switch (state_) {
    case State::kBetween:
      return begin_pair(held, at_end, out);
    case State::kText:
      return take_text(held, at_end, out);
    case State::kValue:
      return take_value(held, out);
    case State::kObject:
    case State::kEnded:
      return false;
  }
  return false;
}

bool CallArguments::begin_pair(std::string& held, bool at_end, std::string& out) {
  const CallPairs& marks = *format_.pairs;
  const size_t end = std::min(held.find(marks.end), held.find(format_.close));
  const size_t name_begin = held.find(marks.before_name);
  if (name_begin == std::string::npos || end < name_begin) {
    if (end == std::string::npos && !at_end) return false;
    out += first_pair_ ? "{}" : "}";
    held.erase(0, std::min(end, held.size()));
    state_ = State::kEnded;
    return false;
  }
  const size_t name_at = name_begin + marks.before_name.size();
  const size_t name_end = held.find(marks.behind_name, name_at);
  const size_t value_begin =
      name_end == std::string::npos
          ? name_end
          : held.find(marks.before_value, name_end + marks.behind_name.size());
  if (value_begin == std::string::npos || end < value_begin) {
    if (end == std::string::npos && !at_end) return false;
    out += first_pair_ ? "{}" : "}";
    held.erase(0, std::min(end, held.size()));
    state_ = State::kEnded;
    return false;
  }
  const std::string name(trimmed(std::string_view(held).substr(name_at, name_end - name_at)));
  out += (first_pair_ ? "{" : ",") + json_quote(name) + ":";
  first_pair_ = false;
  value_begun_ = false;
  schema_ = properties_ == nullptr ? nullptr : properties_->find(name);
  state_ = is_text_schema(schema_) ? State::kText : State::kValue;
  if (state_ == State::kText) out += '"';
  held.erase(0, value_begin + marks.before_value.size());
  return true;
}

// A text can be told while it is written; the line breaks next to its marks belong to them.
bool CallArguments::take_text(std::string& held, bool at_end, std::string& out) {
  const CallPairs& marks = *format_.pairs;
  if (held.empty()) return false;
  if (!value_begun_) {
    if (held.front() == '\n') held.erase(0, 1);
    value_begun_ = true;
  }
  const size_t close = held.find(marks.behind_value);
  std::string_view text = std::string_view(held).substr(0, close);
  const bool complete = close != std::string::npos;
  if (!complete && !at_end) text.remove_suffix(begun_bytes(text, marks.behind_value));
  const size_t certain = text.size();
  const bool line_break = text.ends_with('\n');
  if (line_break) text.remove_suffix(1);
  out += unquoted_json(text);
  if (complete) {
    out += '"';
    held.erase(0, close + marks.behind_value.size());
    state_ = State::kBetween;
    return true;
  }
  held.erase(0, certain - (line_break ? 1 : 0));
  return false;
}

bool CallArguments::take_value(std::string& held, std::string& out) {
  const CallPairs& marks = *format_.pairs;
  const size_t close = held.find(marks.behind_value);
  if (close == std::string::npos) return false;
  out += bare_value_json(schema_, std::string_view(held).substr(0, close));
  held.erase(0, close + marks.behind_value.size());
  state_ = State::kBetween;
  return true;
}

}  // namespace smoe::server
