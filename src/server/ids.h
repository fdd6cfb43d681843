// Identifiers that nobody can guess.
#pragma once

#include <string>
#include <string_view>

namespace smoe::server {

// `prefix` and 24 letters and digits of the system's randomness. Threads: any.
std::string random_id(std::string_view prefix);

}  // namespace smoe::server
