// What the readers of files say of a file that is not what it claims to be.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "base/result.h"

namespace smoe {

inline Error corrupt(std::string message) { return {Code::kCorrupt, std::move(message)}; }

// A name that comes from a file: quoted, and never a page long.
inline std::string in_quotes(std::string_view name) {
  constexpr size_t kLongest = 200;
  return name.size() <= kLongest ? json_quote(name) : json_quote(name.substr(0, kLongest)) + "…";
}

}  // namespace smoe
