// The pieces of a template's source.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace smoe::jinja {

// Both count from 1; the column in characters.
struct Position {
  uint32_t line = 1;
  uint32_t column = 1;
};

struct Token {
  enum class Kind : uint8_t {
    kData,
    kVariableBegin,
    kVariableEnd,
    kBlockBegin,
    kBlockEnd,
    kName,
    kInteger,
    kFloat,
    kString,
    kOperator,
    kEnd,
  };

  Kind kind = Kind::kEnd;
  std::string text;  // of a string: without quotes and escapes
  Position at;

  bool is_name(std::string_view name) const { return kind == Kind::kName && text == name; }
  bool is_operator(std::string_view sign) const { return kind == Kind::kOperator && text == sign; }
};

// "name:3:14: message"
Error error_at(std::string_view name, Position at, Code code, std::string_view message);

// As Jinja does with trim_blocks and lstrip_blocks; a newline at the end of the source is dropped.
// The last token is kEnd. Fails: kCorrupt with the place.
Result<std::vector<Token>> tokenize(std::string_view source, std::string_view name);

}  // namespace smoe::jinja
