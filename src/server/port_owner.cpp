#include "server/port_owner.h"

#include <fmt/format.h>

#include <fstream>
#include <optional>
#include <sstream>
#include <system_error>

namespace smoe::server {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kListening = "0A";

// The inode of the socket that listens on `port`, as /proc/net/tcp and tcp6 show it:
// "sl local_address rem_address st tx:rx tr:tm retrnsmt uid timeout inode".
std::optional<std::string> listening_inode(const fs::path& table, uint16_t port) {
  const std::string wanted = fmt::format(":{:04X}", port);
  std::ifstream file(table);
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    std::string number, local, remote, state, skipped, inode;
    fields >> number >> local >> remote >> state;
    for (int i = 0; i < 5; ++i) fields >> skipped;
    fields >> inode;
    if (local.ends_with(wanted) && state == kListening) return inode;
  }
  return std::nullopt;
}

bool holds_socket(const fs::path& process, const std::string& link) {
  std::error_code error;
  for (fs::directory_iterator entry(process / "fd", error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code ignored;
    if (fs::read_symlink(entry->path(), ignored) == link) return true;
  }
  return false;
}

}  // namespace

std::string port_owner(uint16_t port, const fs::path& root) {
  auto inode = listening_inode(root / "proc/net/tcp", port);
  if (!inode) inode = listening_inode(root / "proc/net/tcp6", port);
  if (!inode) return "";
  const std::string link = fmt::format("socket:[{}]", *inode);
  std::error_code error;
  for (fs::directory_iterator entry(root / "proc", error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string pid = entry->path().filename().string();
    if (pid.find_first_not_of("0123456789") != std::string::npos) continue;
    if (!holds_socket(entry->path(), link)) continue;
    std::string name;
    std::getline(std::ifstream(entry->path() / "comm"), name);
    return fmt::format(" by {} (process {})", name, pid);
  }
  return "";
}

}  // namespace smoe::server
