// HTTP/1.1 over TCP or a Unix socket: requests in, answers and streams out. What they mean is the
// handler's business.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace smoe::server {

struct HttpHeader {
  std::string name;  // of a request: in lower case
  std::string value;
};

struct HttpRequest {
  std::string method;
  std::string path;   // of the target, without the query
  std::string query;  // behind the '?'
  std::vector<HttpHeader> headers;
  std::string body;
  std::string id;             // unguessable; every answer carries it as x-request-id
  bool local_socket = false;  // came over a Unix socket
  bool crowded = false;       // more connections are open than HttpLimits::connections

  // The first of that name (in lower case); "" when there is none.
  std::string_view header(std::string_view name) const;
};

struct HttpResponse {
  unsigned status = 200;
  std::vector<HttpHeader> headers;
  std::string body;
};

// One request and its answer: either respond(), or begin_stream(), write() and end().
// Threads: any, one at a time for the calls that answer. When the last reference goes away without
// an answer, the client is told status 500.
class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual const HttpRequest& request() const = 0;

  virtual void respond(HttpResponse response) = 0;

  // Sends the head at once. Whenever nothing was sent for HttpLimits::keepalive_ms, `keepalive` is.
  virtual void begin_stream(HttpResponse head, std::string keepalive) = 0;
  // False when nobody will read it: the client has gone, or it reads so slowly that
  // HttpLimits::stream_bytes were waiting already. It is then as if it had gone.
  virtual bool write(std::string_view piece) = 0;
  virtual void end() = 0;

  // `callback` runs once, on the network thread, when the client goes away before its answer has
  // been sent; at once when it has gone already. It must not block. A client that closes only its
  // sending side looks the same.
  virtual void on_disconnect(std::function<void()> callback) = 0;
};

class HttpHandler {
 public:
  virtual ~HttpHandler() = default;
  // Looks at a request whose body has not been read yet (`body` is empty): the answer that refuses
  // it. Threads: the network's; must not block.
  virtual std::optional<HttpResponse> admit(const HttpRequest& request) = 0;
  // Threads: the network's; must not block.
  virtual void handle(std::shared_ptr<Exchange> exchange) = 0;
  // The answer to a request that is no HTTP or too much of it: 400, 413, 429, 431, 500, 503. What
  // had been read of the request is filled in.
  virtual HttpResponse refuse(unsigned status, std::string_view message,
                              const HttpRequest& request) = 0;
};

struct HttpLimits {
  uint32_t header_bytes = 16 << 10;
  uint64_t body_bytes = 64 << 20;
  uint64_t all_bodies_bytes = 256 << 20;  // of all requests that are being read or answered
  size_t stream_bytes = 1 << 20;          // of one stream, not sent yet
  uint32_t connections = 512;             // more are told so; four times as many are cut off
  uint32_t header_ms = 10'000;            // from a request's first byte to the end of its header
  uint32_t idle_ms = 75'000;              // between requests
  uint32_t body_pause_ms = 30'000;        // between two pieces of a body
  uint32_t body_ms = 300'000;             // for all of it
  uint32_t send_ms = 30'000;              // for a piece of an answer to be taken
  uint32_t keepalive_ms = 5'000;
};

struct HttpAddress {
  std::string host = "127.0.0.1";  // or a path that ends in ".sock"
  uint16_t port = 0;               // 0: a free one
};

// Whether `host` is the path of a Unix socket.
bool is_socket_path(std::string_view host);

class HttpServer {
 public:
  // Binds; nobody is answered before start(). `handler` outlives the server.
  // Fails: kIo, naming the address and, where it is taken, by whom; kUsage for a host that is none.
  static Result<std::unique_ptr<HttpServer>> listen(const HttpAddress& address,
                                                    const HttpLimits& limits, HttpHandler& handler);
  virtual ~HttpServer() = default;

  // "http://127.0.0.1:7235", or "unix:/run/smoe.sock".
  virtual std::string url() const = 0;
  virtual uint16_t port() const = 0;
  virtual size_t connections() const = 0;  // Threads: any

  // Serves on a thread of its own. Fails: kNoMemory when there is none to be had.
  virtual Status start() = 0;
  // Accepts nothing more, closes what is idle, waits until every answer has been sent, at most
  // `grace_ms`, and then cuts off what is left. Returns when the thread has ended.
  virtual void stop(uint32_t grace_ms) = 0;
};

}  // namespace smoe::server
