// Regular expressions of tokenizer.json files are written for Oniguruma with Ruby's syntax. This
// rewrites them for PCRE2, so that both find the same matches.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/unicode_tables.h"

namespace smoe {

struct TranslatedRegex {
  std::string pattern;  // for PCRE2 with UTF and UCP
  // Characters beyond ASCII that the pattern mentions one by one or as ranges.
  std::vector<CodePointRange> mentioned;
};

// Fails: kUnsupported, naming a construct that is not known to mean the same in both, kCorrupt for
// one that is malformed. What is left to PCRE2's own compiler: parentheses, lookbehind.
Result<TranslatedRegex> translate_regex(std::string_view pattern);

// `text` as a pattern that matches exactly it.
std::string quote_regex(std::string_view text);

}  // namespace smoe
