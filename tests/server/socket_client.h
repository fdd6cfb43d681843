// A client that sends what no decent client would: raw bytes over a TCP or Unix socket.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace smoe::server {

struct ClientResponse {
  int status = 0;
  std::string head;
  std::string body;  // chunks put together
};

class SocketClient {
 public:
  explicit SocketClient(uint16_t port);
  explicit SocketClient(const std::string& path);
  SocketClient(SocketClient&& other) noexcept;
  SocketClient& operator=(SocketClient&&) = delete;
  ~SocketClient();

  bool connected() const { return descriptor_ >= 0; }
  // False when the other side does not take it all.
  bool send(std::string_view bytes);
  void end_sending();  // half-close
  void abort();        // reset, not an orderly end
  void close();

  // What comes next, at most so long; "" at the end of the connection or after the time.
  std::string read_some(int timeout_ms);
  // Everything up to and with `text`; what came until then when it does not come.
  std::string read_until(std::string_view text, int timeout_ms = 5000);
  // Whether the server closes the connection within that time.
  bool closes_within(int timeout_ms);
  // A whole answer; status 0 when there is none.
  ClientResponse response(int timeout_ms = 5000, bool without_body = false);
  ClientResponse request(std::string_view bytes, int timeout_ms = 5000) {
    send(bytes);
    return response(timeout_ms);
  }

 private:
  int descriptor_ = -1;
  std::string received_;
};

// A plain GET.
std::string get_request(std::string_view path, std::string_view more_headers = "");
std::string post_request(std::string_view path, std::string_view body,
                         std::string_view more_headers = "");

}  // namespace smoe::server
