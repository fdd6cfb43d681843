// The only source that knows Boost: its templates take most of a minute to compile.
#include "server/http_server.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <array>
#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/status.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <mutex>
#include <system_error>
#include <thread>
#include <unordered_set>
#include <utility>

#include "base/log.h"
#include "server/ids.h"
#include "server/port_owner.h"

namespace smoe::server {
namespace {

namespace net = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using boost::system::error_code;
using Socket = net::generic::stream_protocol::socket;
using Acceptor = net::basic_socket_acceptor<net::generic::stream_protocol>;
using std::chrono::milliseconds;

constexpr size_t kReadBufferBytes = 96 << 10;
constexpr size_t kSendPieceBytes = 64 << 10;
constexpr milliseconds kLinger{2'000};
constexpr milliseconds kAcceptPause{50};
constexpr uint32_t kHardConnectionFactor = 4;

std::string date_text() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  constexpr std::array kDays{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::array kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                               "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  return fmt::format("{}, {:02} {} {} {:02}:{:02}:{:02} GMT",
                     kDays.at(static_cast<size_t>(utc.tm_wday)), utc.tm_mday,
                     kMonths.at(static_cast<size_t>(utc.tm_mon)), utc.tm_year + 1900, utc.tm_hour,
                     utc.tm_min, utc.tm_sec);
}

bool has_no_body(unsigned status) { return status == 204 || status == 304 || status < 200; }

enum class Framing : uint8_t { kLength, kChunked, kUntilClose };

std::string head_text(const HttpResponse& response, std::string_view id, Framing framing,
                      bool keep_alive) {
  std::string text = fmt::format(
      "HTTP/1.1 {} {}\r\ndate: {}\r\nx-request-id: {}\r\n", response.status,
      std::string_view(http::obsolete_reason(static_cast<http::status>(response.status)).data()),
      date_text(), id);
  for (const HttpHeader& header : response.headers)
    text += fmt::format("{}: {}\r\n", header.name, header.value);
  if (framing == Framing::kLength && !has_no_body(response.status))
    text += fmt::format("content-length: {}\r\n", response.body.size());
  if (framing == Framing::kChunked) text += "transfer-encoding: chunked\r\n";
  text += keep_alive ? "\r\n" : "connection: close\r\n\r\n";
  return text;
}

// How an answer is written for one request.
struct ReplyForm {
  bool chunked = true;     // HTTP/1.0 has no chunks
  bool keep_alive = true;  // as the client wants it
  bool head_only = false;  // the method is HEAD
};

// What a handler and the connection share. Its mutex is held for moments only.
class Reply {
 public:
  struct Taken {
    std::string bytes;
    bool complete = false;
    bool streaming = false;
    bool broken = false;  // the client reads too slowly: cut it off
  };

  Reply(ReplyForm form, std::string id, size_t stream_bytes, std::function<void()> notify)
      : form_(form), id_(std::move(id)), stream_bytes_(stream_bytes), notify_(std::move(notify)) {}

  void respond(const HttpResponse& response) {
    const std::lock_guard lock(mutex_);
    if (answered_) return;
    answered_ = true;
    complete_ = true;
    pending_ = head_text(response, id_, Framing::kLength, form_.keep_alive);
    if (!form_.head_only && !has_no_body(response.status)) pending_ += response.body;
    notify();
  }

  void begin_stream(const HttpResponse& head, std::string keepalive) {
    const std::lock_guard lock(mutex_);
    if (answered_) return;
    answered_ = true;
    streaming_ = true;
    if (!form_.chunked) form_.keep_alive = false;
    keepalive_ = std::move(keepalive);
    pending_ = head_text(head, id_, form_.chunked ? Framing::kChunked : Framing::kUntilClose,
                         form_.keep_alive);
    notify();
  }

  bool write(std::string_view piece) {
    const std::lock_guard lock(mutex_);
    if (gone_ || broken_ || complete_) return false;
    if (pending_.size() + piece.size() > stream_bytes_) {
      broken_ = true;
      notify();
      return false;
    }
    append(piece);
    notify();
    return true;
  }

  void end() {
    const std::lock_guard lock(mutex_);
    if (!streaming_ || complete_) return;
    complete_ = true;
    if (form_.chunked && !form_.head_only) pending_ += "0\r\n\r\n";
    notify();
  }

  // The handler let go of its exchange.
  bool answered() {
    const std::lock_guard lock(mutex_);
    return answered_;
  }

  void on_disconnect(std::function<void()> callback) {
    {
      const std::lock_guard lock(mutex_);
      if (!gone_) {
        callback_ = std::move(callback);
        return;
      }
    }
    callback();
  }

  // Network thread: the client has gone.
  void disconnect() {
    std::function<void()> callback;
    {
      const std::lock_guard lock(mutex_);
      if (gone_) return;
      gone_ = true;
      callback = std::exchange(callback_, nullptr);
    }
    if (callback) callback();
  }

  // Network thread: no notification comes after this.
  void detach() {
    std::function<void()> callback;  // may own the exchange, so it dies outside the lock
    const std::lock_guard lock(mutex_);
    gone_ = true;
    notify_ = nullptr;
    callback = std::exchange(callback_, nullptr);
  }

  Taken take() {
    const std::lock_guard lock(mutex_);
    return {std::exchange(pending_, {}), complete_, streaming_, broken_};
  }

  std::string keepalive() {
    const std::lock_guard lock(mutex_);
    if (complete_ || keepalive_.empty()) return {};
    append(keepalive_);
    return std::exchange(pending_, {});
  }

  bool keep_alive() {
    const std::lock_guard lock(mutex_);
    return form_.keep_alive;
  }

 private:
  void append(std::string_view piece) {
    if (piece.empty() || form_.head_only) return;
    if (form_.chunked) pending_ += fmt::format("{:x}\r\n", piece.size());
    pending_ += piece;
    if (form_.chunked) pending_ += "\r\n";
  }
  void notify() {
    if (notify_) notify_();
  }

  std::mutex mutex_;  // guards all below
  ReplyForm form_;
  const std::string id_;
  const size_t stream_bytes_;
  std::function<void()> notify_;
  std::function<void()> callback_;
  std::string pending_;
  std::string keepalive_;
  bool answered_ = false;
  bool streaming_ = false;
  bool complete_ = false;
  bool gone_ = false;
  bool broken_ = false;
};

class ConnectionExchange final : public Exchange {
 public:
  ConnectionExchange(std::shared_ptr<Reply> reply, HttpRequest request, HttpHandler& handler)
      : reply_(std::move(reply)), request_(std::move(request)), handler_(handler) {}
  ~ConnectionExchange() override {
    if (!reply_->answered())
      reply_->respond(handler_.refuse(500, "the request was dropped without an answer", request_));
    reply_->end();
  }
  ConnectionExchange(const ConnectionExchange&) = delete;
  ConnectionExchange& operator=(const ConnectionExchange&) = delete;

  const HttpRequest& request() const override { return request_; }
  void respond(HttpResponse response) override { reply_->respond(response); }
  void begin_stream(HttpResponse head, std::string keepalive) override {
    reply_->begin_stream(head, std::move(keepalive));
  }
  bool write(std::string_view piece) override { return reply_->write(piece); }
  void end() override { reply_->end(); }
  void on_disconnect(std::function<void()> callback) override {
    reply_->on_disconnect(std::move(callback));
  }

 private:
  const std::shared_ptr<Reply> reply_;
  const HttpRequest request_;
  HttpHandler& handler_;
};

// What all connections of a server share. Everything but the count is the network thread's own.
struct Shared {
  HttpLimits limits;
  HttpHandler* handler = nullptr;
  bool local_socket = false;
  bool stopping = false;
  uint64_t body_bytes = 0;  // of all requests
  std::unordered_set<class Connection*> connections;
  std::atomic<size_t> count{0};  // relaxed: a number to look at
  std::function<void()> on_empty;
};

// One client. Lives in its coroutine; everything runs on the network thread.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Socket socket, Shared& shared, bool crowded)
      : shared_(shared),
        socket_(std::move(socket)),
        deadline_(socket_.get_executor()),
        wake_(socket_.get_executor()),
        crowded_(crowded) {
    shared_.connections.insert(this);
    shared_.count.store(shared_.connections.size(), std::memory_order_relaxed);
  }
  ~Connection() {
    shared_.body_bytes -= body_bytes_;
    shared_.connections.erase(this);
    shared_.count.store(shared_.connections.size(), std::memory_order_relaxed);
    if (shared_.connections.empty() && shared_.on_empty) shared_.on_empty();
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  net::awaitable<void> serve() {
    for (bool more = true; more && !shared_.stopping;) more = co_await serve_request();
    disarm();
    close();
  }

  // The server stops: a connection without a request under way has no reason to stay.
  void close_if_idle() {
    if (!busy_) close();
  }
  void cut_off() {
    if (reply_) reply_->disconnect();
    close();
  }

 private:
  using Parser = http::request_parser<http::string_body>;

  void close() {
    error_code ignored;
    socket_.close(ignored);
    signal();
  }

  // Closes the connection unless disarm() comes first.
  void arm(uint32_t after_ms) {
    deadline_.expires_after(milliseconds(after_ms));
    deadline_.async_wait([self = weak_from_this()](error_code error) {
      if (error) return;
      if (const auto connection = self.lock()) connection->close();
    });
  }
  void disarm() { deadline_.cancel(); }

  void signal() {
    signalled_ = true;
    wake_.cancel();
  }
  // Until signal(), at most so long. Whether it was signalled.
  net::awaitable<bool> wait_signal(uint32_t most_ms) {
    if (!signalled_) {
      wake_.expires_after(milliseconds(most_ms));
      error_code ignored;
      co_await wake_.async_wait(net::redirect_error(net::use_awaitable, ignored));
    }
    co_return std::exchange(signalled_, false);
  }

  net::awaitable<bool> serve_request();
  net::awaitable<bool> await_first_byte();
  net::awaitable<error_code> read_body(Parser& parser);
  net::awaitable<bool> refuse(unsigned status, std::string_view message, HttpRequest request);
  net::awaitable<bool> refuse_with(HttpResponse response, std::string id);
  net::awaitable<bool> answer(HttpRequest request, ReplyForm form);
  net::awaitable<bool> send_reply(Reply& reply);
  net::awaitable<bool> send(std::string bytes);
  net::awaitable<void> drain();
  HttpRequest request_of(const Parser& parser, const std::string& id) const;
  void watch();
  net::awaitable<void> stop_watching();

  Shared& shared_;
  Socket socket_;
  net::steady_timer deadline_;
  net::steady_timer wake_;
  const bool crowded_;
  beast::flat_buffer buffer_{kReadBufferBytes};
  std::shared_ptr<Reply> reply_;  // of the request that is being answered
  uint64_t body_bytes_ = 0;       // of that request
  bool signalled_ = false;
  bool watching_ = false;
  bool busy_ = false;  // from the end of a request's header to the end of its answer
  bool first_ = true;
};

HttpRequest Connection::request_of(const Parser& parser, const std::string& id) const {
  const auto& message = parser.get();
  HttpRequest request;
  request.id = id;
  request.local_socket = shared_.local_socket;
  request.crowded = crowded_;
  request.method = std::string(message.method_string());
  const std::string target(message.target());
  const size_t query = std::min(target.find('?'), target.size());
  request.path = target.substr(0, query);
  if (query < target.size()) request.query = target.substr(query + 1);
  for (const auto& field : message) {
    std::string name(field.name_string());
    for (char& c : name)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    request.headers.push_back({std::move(name), std::string(field.value())});
  }
  return request;
}

net::awaitable<bool> Connection::await_first_byte() {
  arm(first_ ? shared_.limits.header_ms : shared_.limits.idle_ms);
  first_ = false;
  if (buffer_.size() == 0) {
    error_code error;
    const size_t bytes = co_await socket_.async_read_some(
        buffer_.prepare(kReadBufferBytes / 2), net::redirect_error(net::use_awaitable, error));
    if (error) co_return false;
    buffer_.commit(bytes);
  }
  co_return true;
}

net::awaitable<bool> Connection::serve_request() {
  busy_ = false;
  const bool begun = co_await await_first_byte();
  if (!begun || shared_.stopping) co_return false;
  arm(shared_.limits.header_ms);
  const std::string id = random_id("req_");
  Parser parser;
  parser.header_limit(shared_.limits.header_bytes);
  parser.body_limit(shared_.limits.body_bytes);
  error_code error;
  co_await http::async_read_header(socket_, buffer_, parser,
                                   net::redirect_error(net::use_awaitable, error));
  busy_ = true;
  HttpRequest request = request_of(parser, id);
  // An impossible Content-Length is seen as soon as the header ends.
  if (error == http::error::body_limit)
    co_return co_await refuse(413, "the body is too large", std::move(request));
  if (error == http::error::header_limit || error == http::error::buffer_overflow)
    co_return co_await refuse(431, "the header is too large", std::move(request));
  if (error && error.category() == error_code(http::error::bad_value).category() &&
      error != http::error::end_of_stream && error != http::error::partial_message)
    co_return co_await refuse(400, "no valid HTTP: " + error.message(), std::move(request));
  if (error) co_return false;

  if (auto refusal = shared_.handler->admit(request))
    co_return co_await refuse_with(std::move(*refusal), id);
  if (request.header("expect") == "100-continue" && !parser.is_done()) {
    const bool sent = co_await send("HTTP/1.1 100 Continue\r\n\r\n");
    if (!sent) co_return false;
  }
  const error_code body_error = co_await read_body(parser);
  if (body_error == http::error::body_limit)
    co_return co_await refuse(413, "the body is too large", std::move(request));
  if (body_error == net::error::no_buffer_space) {
    parser.get().body() = {};
    shared_.body_bytes -= std::exchange(body_bytes_, 0);
    co_return co_await refuse(503, "too many large requests at once", std::move(request));
  }
  if (body_error == http::error::partial_message || body_error == http::error::end_of_stream)
    co_return false;
  if (body_error && body_error.category() == error_code(http::error::bad_value).category())
    co_return co_await refuse(400, "no valid HTTP: " + body_error.message(), std::move(request));
  if (body_error) co_return false;
  disarm();
  const ReplyForm form{parser.get().version() >= 11,
                       parser.get().keep_alive() && !shared_.stopping && !crowded_,
                       request.method == "HEAD"};
  request.body = std::move(parser.get().body());
  co_return co_await answer(std::move(request), form);
}

net::awaitable<error_code> Connection::read_body(Parser& parser) {
  const auto begin = std::chrono::steady_clock::now();
  error_code error;
  while (!parser.is_done()) {
    const auto spent = std::chrono::steady_clock::now() - begin;
    if (spent > milliseconds(shared_.limits.body_ms)) co_return net::error::timed_out;
    arm(shared_.limits.body_pause_ms);
    co_await http::async_read_some(socket_, buffer_, parser,
                                   net::redirect_error(net::use_awaitable, error));
    if (error) co_return error;
    const uint64_t bytes = parser.get().body().size();
    shared_.body_bytes += bytes - body_bytes_;
    body_bytes_ = bytes;
    if (shared_.body_bytes > shared_.limits.all_bodies_bytes) co_return net::error::no_buffer_space;
  }
  co_return error;
}

net::awaitable<bool> Connection::refuse(unsigned status, std::string_view message,
                                        HttpRequest request) {
  HttpResponse response = shared_.handler->refuse(status, message, request);
  co_return co_await refuse_with(std::move(response), request.id);
}

// The client may still be sending. It reads the answer only when the connection is not reset, so
// what it sends is read and forgotten for a while.
net::awaitable<bool> Connection::refuse_with(HttpResponse response, std::string id) {
  std::string bytes = head_text(response, id, Framing::kLength, false);
  if (!has_no_body(response.status)) bytes += response.body;
  const bool sent = co_await send(std::move(bytes));
  if (sent) co_await drain();
  co_return false;
}

net::awaitable<void> Connection::drain() {
  error_code error;
  socket_.shutdown(Socket::shutdown_send, error);
  arm(static_cast<uint32_t>(kLinger.count()));
  std::vector<char> nowhere(kSendPieceBytes);
  while (!error)
    co_await socket_.async_read_some(net::buffer(nowhere),
                                     net::redirect_error(net::use_awaitable, error));
}

// Reads while an answer is prepared, because only that tells whether the client is still there.
// What it sends meanwhile belongs to its next request.
void Connection::watch() {
  if (watching_ || !socket_.is_open() || buffer_.size() >= kReadBufferBytes / 2) return;
  watching_ = true;
  socket_.async_read_some(buffer_.prepare(kReadBufferBytes / 2 - buffer_.size()),
                          [self = shared_from_this()](error_code error, size_t bytes) {
                            self->watching_ = false;
                            self->buffer_.commit(bytes);
                            if (error && error != net::error::operation_aborted && self->reply_)
                              self->reply_->disconnect();
                            self->signal();
                            if (!error && self->reply_) self->watch();
                          });
}

net::awaitable<void> Connection::stop_watching() {
  error_code ignored;
  if (watching_) socket_.cancel(ignored);
  while (watching_) static_cast<void>(co_await wait_signal(1'000));
}

net::awaitable<bool> Connection::answer(HttpRequest request, ReplyForm form) {
  const auto executor = socket_.get_executor();
  reply_ = std::make_shared<Reply>(form, request.id, shared_.limits.stream_bytes,
                                   [executor, self = weak_from_this()] {
                                     net::post(executor, [self] {
                                       if (const auto connection = self.lock())
                                         connection->signal();
                                     });
                                   });
  const std::shared_ptr<Reply> reply = reply_;
  watch();
  shared_.handler->handle(
      std::make_shared<ConnectionExchange>(reply, std::move(request), *shared_.handler));
  const bool sent = co_await send_reply(*reply);
  shared_.body_bytes -= std::exchange(body_bytes_, 0);
  if (!sent) reply->disconnect();
  reply_ = nullptr;
  reply->detach();
  co_await stop_watching();
  disarm();
  co_return sent && reply->keep_alive() && socket_.is_open();
}

net::awaitable<bool> Connection::send_reply(Reply& reply) {
  bool streaming = false;
  for (;;) {
    Reply::Taken taken = reply.take();
    streaming = taken.streaming;
    if (taken.broken || !socket_.is_open()) co_return false;
    if (!taken.bytes.empty()) {
      const bool sent = co_await send(std::move(taken.bytes));
      if (!sent) co_return false;
      continue;
    }
    if (taken.complete) co_return true;
    const bool woken = co_await wait_signal(shared_.limits.keepalive_ms);
    if (woken || !streaming) continue;
    std::string bytes = reply.keepalive();
    if (bytes.empty()) continue;
    const bool sent = co_await send(std::move(bytes));
    if (!sent) co_return false;
  }
}

net::awaitable<bool> Connection::send(std::string bytes) {
  for (size_t done = 0; done < bytes.size();) {
    arm(shared_.limits.send_ms);
    const size_t count = std::min(kSendPieceBytes, bytes.size() - done);
    error_code error;
    co_await net::async_write(socket_, net::buffer(bytes.data() + done, count),
                              net::redirect_error(net::use_awaitable, error));
    if (error) co_return false;
    done += count;
  }
  disarm();
  co_return true;
}

class BeastServer final : public HttpServer {
 public:
  BeastServer(const HttpLimits& limits, HttpHandler& handler) : acceptor_(io_), pause_(io_) {
    shared_.limits = limits;
    shared_.handler = &handler;
  }
  ~BeastServer() override { stop(0); }
  BeastServer(const BeastServer&) = delete;
  BeastServer& operator=(const BeastServer&) = delete;

  Status bind(const HttpAddress& address) {
    return is_socket_path(address.host) ? bind_path(address.host) : bind_tcp(address);
  }

  std::string url() const override { return url_; }
  uint16_t port() const override { return port_; }
  size_t connections() const override { return shared_.count.load(std::memory_order_relaxed); }
  Status start() override;
  void stop(uint32_t grace_ms) override;

 private:
  Status bind_tcp(const HttpAddress& address);
  Status bind_path(const std::string& path);
  net::awaitable<void> accept();
  void begin_stop(uint32_t grace_ms);

  Shared shared_;  // outlives the connections, which io_ owns
  net::io_context io_{1};
  Acceptor acceptor_;
  net::steady_timer pause_;
  std::string url_;
  std::string socket_path_;
  uint16_t port_ = 0;
  std::thread thread_;
};

Status BeastServer::bind_tcp(const HttpAddress& address) {
  net::ip::tcp::resolver resolver(io_);
  error_code error;
  const auto found = resolver.resolve(address.host, std::to_string(address.port),
                                      net::ip::tcp::resolver::passive, error);
  if (error || found.empty())
    return Error{Code::kUsage, fmt::format("--host {}: is no address of this machine: {}",
                                           address.host, error.message())};
  const net::ip::tcp::endpoint endpoint = found.begin()->endpoint();
  acceptor_.open(endpoint.protocol(), error);
  if (!error) acceptor_.set_option(net::socket_base::reuse_address(true), error);
  if (!error) acceptor_.bind(endpoint, error);
  if (!error) acceptor_.listen(net::socket_base::max_listen_connections, error);
  const std::string shown = endpoint.address().is_v6()
                                ? fmt::format("[{}]", endpoint.address().to_string())
                                : endpoint.address().to_string();
  if (error == net::error::address_in_use)
    return Error{Code::kIo, fmt::format("{}:{} is taken{}; --port takes another, --port 0 any that "
                                        "is free",
                                        shown, address.port, port_owner(address.port))};
  if (error)
    return Error{Code::kIo, fmt::format("{}:{}: {}", shown, address.port, error.message())};
  const auto bound = acceptor_.local_endpoint();
  const auto* raw = reinterpret_cast<const sockaddr_in*>(bound.data());
  const auto* raw6 = reinterpret_cast<const sockaddr_in6*>(bound.data());
  port_ = ntohs(endpoint.address().is_v6() ? raw6->sin6_port : raw->sin_port);
  url_ = fmt::format("http://{}:{}", shown, port_);
  return {};
}

// A socket that a dead process left behind is replaced; one that answers is somebody's.
Status BeastServer::bind_path(const std::string& path) {
  struct stat status {};
  error_code error;
  if (::lstat(path.c_str(), &status) == 0) {
    if (!S_ISSOCK(status.st_mode))
      return Error{Code::kIo, path + ": is there already and is no socket"};
    net::local::stream_protocol::socket probe(io_);
    probe.connect(net::local::stream_protocol::endpoint(path), error);
    if (!error) return Error{Code::kIo, path + ": another process is listening on it"};
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }
  if (path.size() >= sizeof(sockaddr_un::sun_path))
    return Error{Code::kUsage, fmt::format("{}: a socket's path has at most {} bytes", path,
                                           sizeof(sockaddr_un::sun_path) - 1)};
  const net::local::stream_protocol::endpoint endpoint(path);
  error = {};
  acceptor_.open(endpoint.protocol(), error);
  if (!error) acceptor_.bind(endpoint, error);
  if (!error) acceptor_.listen(net::socket_base::max_listen_connections, error);
  if (error) return Error{Code::kIo, path + ": " + error.message()};
  shared_.local_socket = true;
  socket_path_ = path;
  url_ = "unix:" + path;
  return {};
}

net::awaitable<void> BeastServer::accept() {
  while (acceptor_.is_open()) {
    error_code error;
    Socket socket = co_await acceptor_.async_accept(net::redirect_error(net::use_awaitable, error));
    if (error == net::error::operation_aborted || !acceptor_.is_open()) co_return;
    if (error) {
      // Out of descriptors: those that are open come to an end.
      log::warn("accepting a connection: {}", error.message());
      pause_.expires_after(kAcceptPause);
      co_await pause_.async_wait(net::redirect_error(net::use_awaitable, error));
      continue;
    }
    const size_t open = shared_.connections.size();
    if (open >= size_t{shared_.limits.connections} * kHardConnectionFactor) continue;
    if (!shared_.local_socket) socket.set_option(net::ip::tcp::no_delay(true), error);
    const bool crowded = open >= shared_.limits.connections;
    auto connection = std::make_shared<Connection>(std::move(socket), shared_, crowded);
    net::co_spawn(
        io_,
        [connection = std::move(connection)]() -> net::awaitable<void> {
          co_await connection->serve();
        },
        net::detached);
  }
}

Status BeastServer::start() {
  // Each connection is a descriptor, and many systems allow a process 1024 at first.
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
    files.rlim_cur = files.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &files);
  }
  net::co_spawn(
      io_, [this]() -> net::awaitable<void> { co_await accept(); }, net::detached);
  try {
    thread_ = std::thread([this] { io_.run(); });
  } catch (const std::system_error& error) {
    return Error{Code::kNoMemory, std::string("no thread for the network: ") + error.what()};
  }
  return {};
}

void BeastServer::begin_stop(uint32_t grace_ms) {
  shared_.stopping = true;
  error_code ignored;
  acceptor_.close(ignored);
  pause_.expires_after(milliseconds(grace_ms));
  pause_.async_wait([this](error_code error) {
    if (error) return;
    const std::vector<Connection*> left(shared_.connections.begin(), shared_.connections.end());
    for (Connection* connection : left) connection->cut_off();
  });
  shared_.on_empty = [this] { pause_.cancel(); };
  const std::vector<Connection*> open(shared_.connections.begin(), shared_.connections.end());
  for (Connection* connection : open) connection->close_if_idle();
  if (shared_.connections.empty()) pause_.cancel();
}

void BeastServer::stop(uint32_t grace_ms) {
  if (!thread_.joinable()) return;
  net::post(io_, [this, grace_ms] { begin_stop(grace_ms); });
  thread_.join();  // the loop ends when nothing is left to wait for
  if (!socket_path_.empty()) {
    std::error_code ignored;
    std::filesystem::remove(socket_path_, ignored);
  }
}

}  // namespace

std::string_view HttpRequest::header(std::string_view name) const {
  for (const HttpHeader& header : headers)
    if (header.name == name) return header.value;
  return {};
}

bool is_socket_path(std::string_view host) { return host.ends_with(".sock"); }

Result<std::unique_ptr<HttpServer>> HttpServer::listen(const HttpAddress& address,
                                                       const HttpLimits& limits,
                                                       HttpHandler& handler) {
  auto server = std::make_unique<BeastServer>(limits, handler);
  SMOE_DO(server->bind(address));
  return std::unique_ptr<HttpServer>(std::move(server));
}

}  // namespace smoe::server
