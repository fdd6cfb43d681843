// Walks JSON text in place, for a header whose shape is known: nothing is built but what the caller
// asks for, so that reading 100 MB of header does not take a gigabyte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace smoe {

// Fails: every call with kCorrupt and the byte's position. Lifetime: the text outlives *this.
class JsonCursor {
 public:
  // `text` must be UTF-8.
  explicit JsonCursor(std::string_view text) : text_(text) {}

  // Takes `wanted` if it comes next, spaces skipped.
  bool take(char wanted);
  Status expect(char wanted);
  // A string literal, unescaped.
  Result<std::string> string();
  // A whole number in plain digits.
  Result<uint64_t> number();
  // Nothing but spaces is left.
  bool at_end();

 private:
  void skip_spaces();
  Error error(std::string_view fact) const;
  Status escape(std::string& to);
  Result<uint32_t> hex4();

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace smoe
