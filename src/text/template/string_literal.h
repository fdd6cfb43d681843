// The escapes of a string literal.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace smoe::jinja {

// `content` is what stands between the quotes. As Python's unicode-escape: an unknown escape stays
// as it is. Fails: kCorrupt for a broken escape, a surrogate, or a character by its name.
Result<std::string> unescape_literal(std::string_view content);

}  // namespace smoe::jinja
