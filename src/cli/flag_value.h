// From the text of an option's value to its setting.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/flag_table.h"

namespace smoe::cli {

// Switches take none on the command line.
bool takes_value(const Flag& flag);
// Whether --no-NAME turns it off.
bool has_negation(const Flag& flag);
bool is_list(const Flag& flag);

// Sets the flag's member; values of a list are added to it. `where` is how the user spelled the
// flag's name, for the message.  Fails: kUsage, with the range or the words that work.
Status apply(const Flag& flag, std::string_view value, std::string_view where, Settings& settings);

// What the flag is set to, as a user would write it; "-" when nobody set it.
std::string value_text(const Flag& flag, const Settings& settings);

// 1/true/on/enabled/yes and 0/false/off/disabled/no, in any case.
std::optional<bool> parse_bool(std::string_view text);

}  // namespace smoe::cli
