// What --version prints.
#pragma once

#include <string_view>

namespace smoe::cli {

std::string_view version_text();  // "smoe 0.1.0\n"

}  // namespace smoe::cli
