// Who listens on a TCP port, for the message that says it is taken.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace smoe::server {

// " by smoe (process 4711)"; "" when it cannot be told. `root` holds proc/ ("/" in production).
std::string port_owner(uint16_t port, const std::filesystem::path& root = "/");

}  // namespace smoe::server
