// Files that a command writes must not be those that it reads.
#pragma once

#include <initializer_list>
#include <string>

#include "base/result.h"

namespace smoe::cli {

// Fails with kUsage when `output` is one of `inputs` (by any name or link) or lies in one of them
// that is a folder.
Status check_output(const std::string& output, std::initializer_list<std::string> inputs);

}  // namespace smoe::cli
