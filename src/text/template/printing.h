// Values as text: str(), repr() and json.dumps().
#pragma once

#include <string>

#include "base/result.h"
#include "text/template/run.h"
#include "text/template/value.h"

namespace smoe::jinja {

// What `{{ value }}` prints. Text keeps its origins; numbers and punctuation count as the
// template's, since no special token can be made of them.
Result<MarkedText> to_text(Run& run, const Value& value);
Result<MarkedText> to_repr(Run& run, const Value& value);

struct JsonStyle {
  bool indented = false;
  std::string indent;
  std::string item_separator = ", ";
  std::string key_separator = ": ";
  bool ensure_ascii = false;
  bool sort_keys = false;
};

// Fails: kUsage for what JSON has no form for.
Result<MarkedText> to_json(Run& run, const Value& value, const JsonStyle& style);

}  // namespace smoe::jinja
