// A text handed to the user's editor and back.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace smoe::cli {

// Runs `command FILE` by the shell on a temporary file that holds `text`, and gives what it then
// holds, without the last newline. Fails: kUsage without a command, kIo when the editor does not
// start or ends with another status than 0 (the text is then as it was).
Result<std::string> edit_text(const std::string& command, std::string_view text);

}  // namespace smoe::cli
