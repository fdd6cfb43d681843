#include "cli/service_manager.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>

#include "support/temp_dir.h"

namespace smoe::cli {
namespace {

// A socket as systemd has it; `name` as in $NOTIFY_SOCKET.
class ManagerSocket {
 public:
  explicit ManagerSocket(const std::string& name) {
    descriptor_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::copy(name.begin(), name.end(), static_cast<char*>(address.sun_path));
    if (name[0] == '@') address.sun_path[0] = '\0';
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    EXPECT_EQ(::bind(descriptor_, reinterpret_cast<const sockaddr*>(&address), length), 0);
  }
  ~ManagerSocket() { ::close(descriptor_); }
  ManagerSocket(const ManagerSocket&) = delete;
  ManagerSocket& operator=(const ManagerSocket&) = delete;

  std::string heard() const {
    std::array<char, 256> bytes{};
    const ssize_t count = ::recv(descriptor_, bytes.data(), bytes.size(), 0);
    return count < 0 ? "" : std::string(bytes.data(), static_cast<size_t>(count));
  }

 private:
  int descriptor_ = -1;
};

TEST(ServiceManager, HearsHowTheServiceIsDoing) {
  const test::TempDir folder;
  const std::string path = (folder.path() / "notify").string();
  const ManagerSocket manager(path);
  notify_service_manager(path, "READY=1");
  EXPECT_EQ(manager.heard(), "READY=1");
}

TEST(ServiceManager, MayHaveAnAbstractName) {
  const std::string name = "@smoe-test-" + std::to_string(::getpid());
  const ManagerSocket manager(name);
  notify_service_manager(name, "STOPPING=1");
  EXPECT_EQ(manager.heard(), "STOPPING=1");
}

TEST(ServiceManager, IsNotMissedWhereThereIsNone) {
  notify_service_manager("", "READY=1");
  notify_service_manager("/nowhere/at/all", "READY=1");
  notify_service_manager(std::string(200, 'x'), "READY=1");
}

}  // namespace
}  // namespace smoe::cli
