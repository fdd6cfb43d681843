#include "server/socket_client.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

namespace smoe::server {
namespace {

using Clock = std::chrono::steady_clock;

int left_ms(Clock::time_point until) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
  return static_cast<int>(std::max<int64_t>(left.count(), 0));
}

std::string lower_case(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

}  // namespace

SocketClient::SocketClient(uint16_t port) : descriptor_(::socket(AF_INET, SOCK_STREAM, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
    close();
}

SocketClient::SocketClient(const std::string& path)
    : descriptor_(::socket(AF_UNIX, SOCK_STREAM, 0)) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(static_cast<char*>(address.sun_path), sizeof(address.sun_path) - 1);
  if (::connect(descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
    close();
}

SocketClient::SocketClient(SocketClient&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), received_(std::move(other.received_)) {}

SocketClient::~SocketClient() { close(); }

void SocketClient::close() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

bool SocketClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    pollfd wait{descriptor_, POLLOUT, 0};
    if (::poll(&wait, 1, 5000) <= 0) return false;
    const ssize_t sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

void SocketClient::end_sending() { ::shutdown(descriptor_, SHUT_WR); }

void SocketClient::abort() {
  const linger now{1, 0};
  ::setsockopt(descriptor_, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
  close();
}

std::string SocketClient::read_some(int timeout_ms) {
  if (!received_.empty()) return std::exchange(received_, {});
  pollfd wait{descriptor_, POLLIN, 0};
  if (::poll(&wait, 1, timeout_ms) <= 0) return {};
  std::array<char, 65536> bytes{};
  const ssize_t count = ::recv(descriptor_, bytes.data(), bytes.size(), 0);
  return count > 0 ? std::string(bytes.data(), static_cast<size_t>(count)) : std::string();
}

std::string SocketClient::read_until(std::string_view text, int timeout_ms) {
  const auto until = Clock::now() + std::chrono::milliseconds(timeout_ms);
  std::string all;
  while (true) {
    const size_t at = all.find(text);
    if (at != std::string::npos) {
      received_ = all.substr(at + text.size());
      all.resize(at + text.size());
      return all;
    }
    const std::string more = read_some(left_ms(until));
    if (more.empty()) return all;
    all += more;
  }
}

bool SocketClient::closes_within(int timeout_ms) {
  const auto until = Clock::now() + std::chrono::milliseconds(timeout_ms);
  received_.clear();
  while (true) {
    pollfd wait{descriptor_, POLLIN, 0};
    if (::poll(&wait, 1, left_ms(until)) <= 0) return false;
    std::array<char, 65536> bytes{};
    if (::recv(descriptor_, bytes.data(), bytes.size(), 0) <= 0) return true;
  }
}

ClientResponse SocketClient::response(int timeout_ms, bool without_body) {
  ClientResponse response;
  response.head = read_until("\r\n\r\n", timeout_ms);
  if (!response.head.starts_with("HTTP/1.1 ") || response.head.size() < 12) return response;
  response.status = std::stoi(response.head.substr(9, 3));
  const std::string head = lower_case(response.head);
  if (without_body) return response;
  if (const size_t at = head.find("content-length: "); at != std::string::npos) {
    const size_t length = std::stoul(head.substr(at + 16));
    while (response.body.size() < length) {
      const std::string more = read_some(timeout_ms);
      if (more.empty()) return response;
      response.body += more;
    }
    received_ = response.body.substr(length);
    response.body.resize(length);
  } else if (head.find("transfer-encoding: chunked") != std::string::npos) {
    while (true) {
      const std::string line = read_until("\r\n", timeout_ms);
      if (line.empty()) return response;
      const size_t length = std::stoul(line, nullptr, 16);
      std::string chunk;
      while (chunk.size() < length + 2) {
        const std::string more = read_some(timeout_ms);
        if (more.empty()) return response;
        chunk += more;
      }
      received_ = chunk.substr(length + 2);
      response.body += chunk.substr(0, length);
      if (length == 0) return response;
    }
  }
  return response;
}

std::string get_request(std::string_view path, std::string_view more_headers) {
  return fmt::format("GET {} HTTP/1.1\r\nHost: localhost\r\n{}\r\n", path, more_headers);
}

std::string post_request(std::string_view path, std::string_view body,
                         std::string_view more_headers) {
  return fmt::format(
      "POST {} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Content-Length: {}\r\n{}\r\n{}",
      path, body.size(), more_headers, body);
}

}  // namespace smoe::server
