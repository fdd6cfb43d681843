// Tells systemd how a service is doing (sd_notify(3)): Type=notify units wait for READY=1.
#pragma once

#include <string>
#include <string_view>

namespace smoe::cli {

// Sends `state` ("READY=1") to a datagram socket: a path, or @name for an abstract one; nothing for
// "". Nobody waits for it, and a service manager that has gone is no failure of the service.
void notify_service_manager(const std::string& socket, std::string_view state);

}  // namespace smoe::cli
