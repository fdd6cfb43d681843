#include "cli/service_manager.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>

namespace smoe::cli {

void notify_service_manager(const std::string& socket, std::string_view state) {
  sockaddr_un address{};
  if (socket.size() < 2 || socket.size() >= sizeof(address.sun_path)) return;
  address.sun_family = AF_UNIX;
  std::copy(socket.begin(), socket.end(), static_cast<char*>(address.sun_path));
  if (socket[0] == '@') address.sun_path[0] = '\0';
  const int descriptor = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return;
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket.size());
  ::sendto(descriptor, state.data(), state.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
           reinterpret_cast<const sockaddr*>(&address), length);
  ::close(descriptor);
}

}  // namespace smoe::cli
