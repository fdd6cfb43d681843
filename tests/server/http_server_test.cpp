#include "server/http_server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <thread>
#include <vector>

#include "server/socket_client.h"
#include "support/temp_dir.h"

namespace smoe::server {
namespace {

using testing::HasSubstr;
using Clock = std::chrono::steady_clock;

// Answers at once, or keeps exchanges for the test to answer.
class TestHandler final : public HttpHandler {
 public:
  std::optional<HttpResponse> admit(const HttpRequest& request) override {
    if (request.path == "/refused") return HttpResponse{403, {}, "refused"};
    return std::nullopt;
  }
  void handle(std::shared_ptr<Exchange> exchange) override {
    const HttpRequest& request = exchange->request();
    if (request.path == "/dropped") return;
    if (request.path.starts_with("/held")) {
      exchange->on_disconnect([this] { ++gone; });
      if (request.path == "/held/stream") exchange->begin_stream({200, {}, {}}, ": alive\n\n");
      const std::lock_guard lock(mutex_);
      held_.push_back(std::move(exchange));
      return;
    }
    exchange->respond({200,
                       {},
                       fmt::format("{} {} {} {}", request.method, request.path, request.query,
                                   request.body.size())});
  }
  HttpResponse refuse(unsigned status, std::string_view message, const HttpRequest&) override {
    return {status, {{"content-type", "text/plain"}}, std::string(message)};
  }

  std::shared_ptr<Exchange> take_held() {
    for (int i = 0; i < 500; ++i) {
      {
        const std::lock_guard lock(mutex_);
        if (!held_.empty()) {
          auto exchange = held_.back();
          held_.pop_back();
          return exchange;
        }
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return nullptr;
  }
  void forget_held() {
    const std::lock_guard lock(mutex_);
    held_.clear();
  }
  std::atomic<int> gone{0};

 private:
  std::mutex mutex_;
  std::vector<std::shared_ptr<Exchange>> held_;
};

size_t open_descriptors() {
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
    ++count;
  return count;
}

bool eventually(const std::function<bool()>& condition, int timeout_ms = 3000) {
  const auto until = Clock::now() + std::chrono::milliseconds(timeout_ms);
  while (!condition()) {
    if (Clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

class HttpServerTest : public testing::Test {
 protected:
  void start(const HttpLimits& limits = {}, const HttpAddress& address = {}) {
    auto server = HttpServer::listen(address, limits, handler_);
    ASSERT_TRUE(server) << server.error().message;
    server_ = *std::move(server);
    ASSERT_TRUE(server_->start());
  }
  SocketClient connect() const { return SocketClient(server_->port()); }
  void TearDown() override {
    handler_.forget_held();
    if (server_) server_->stop(1000);
  }

  TestHandler handler_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpServerTest, AnswersSeveralRequestsOnOneConnection) {
  start();
  SocketClient client = connect();
  EXPECT_EQ(client.request(get_request("/a?b=1")).body, "GET /a b=1 0");
  const ClientResponse second = client.request(post_request("/b", "12345"));
  EXPECT_EQ(second.body, "POST /b  5");
  EXPECT_THAT(second.head, HasSubstr("x-request-id: req_"));
  EXPECT_THAT(second.head, HasSubstr("date: "));
}

TEST_F(HttpServerTest, AnswersRequestsThatWereSentTogetherInTheirOrder) {
  start();
  SocketClient client = connect();
  client.send(get_request("/one") + post_request("/two", "xy") + get_request("/three"));
  EXPECT_EQ(client.response().body, "GET /one  0");
  EXPECT_EQ(client.response().body, "POST /two  2");
  EXPECT_EQ(client.response().body, "GET /three  0");
}

TEST_F(HttpServerTest, SendsNoBodyInAnswerToHead) {
  start();
  SocketClient client = connect();
  client.send("HEAD /a HTTP/1.1\r\nHost: x\r\n\r\n");
  const ClientResponse head = client.response(5000, true);
  EXPECT_THAT(head.head, HasSubstr("content-length: 10"));
  EXPECT_EQ(client.request(get_request("/b")).body, "GET /b  0");
}

TEST_F(HttpServerTest, ClosesAfterAnHttp10Request) {
  start();
  SocketClient client = connect();
  const ClientResponse response = client.request("GET /a HTTP/1.0\r\nHost: x\r\n\r\n");
  EXPECT_EQ(response.status, 200);
  EXPECT_THAT(response.head, HasSubstr("connection: close"));
  EXPECT_TRUE(client.closes_within(1000));
}

TEST_F(HttpServerTest, RefusesWhatIsNoHttp) {
  start();
  for (const std::string_view bytes :
       {"\x16\x03\x01\x02\x01\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n",
        "GET / HTTP/1.1\r\nbroken header\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999999\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"}) {
    SocketClient client = connect();
    EXPECT_EQ(client.request(bytes).status, 400) << bytes;
    EXPECT_TRUE(client.closes_within(3000));
  }
}

// RELIABILITY F9; the packaged library that this server replaces accepted them all.
TEST_F(HttpServerTest, RefusesFiftyThousandHeaders) {
  start();
  SocketClient client = connect();
  std::string request = "GET / HTTP/1.1\r\nHost: x\r\n";
  for (int i = 0; i < 50'000; ++i) request += fmt::format("x-{}: y\r\n", i);
  client.send(request + "\r\n");
  EXPECT_EQ(client.response().status, 431);
}

TEST_F(HttpServerTest, RefusesABodyThatIsTooLargeBeforeReadingIt) {
  start({.body_bytes = 1 << 20});
  SocketClient client = connect();
  const auto begin = Clock::now();
  EXPECT_EQ(client
                .request("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 67108864\r\n"
                         "Expect: 100-continue\r\n\r\n")
                .status,
            413);
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(1));
}

TEST_F(HttpServerTest, RefusesAChunkedBodyThatIsTooLarge) {
  start({.body_bytes = 1 << 20});
  SocketClient client = connect();
  client.send("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
  const std::string chunk = "10000\r\n" + std::string(0x10000, 'x') + "\r\n";
  for (int i = 0; i < 64; ++i)
    if (!client.send(chunk)) break;
  EXPECT_EQ(client.response().status, 413);
}

TEST_F(HttpServerTest, TakesALargeBodyWithinTheLimit) {
  start();
  SocketClient client = connect();
  const std::string body(8 << 20, 'x');
  EXPECT_EQ(client.request(post_request("/big", body)).body, "POST /big  8388608");
}

TEST_F(HttpServerTest, RefusesMoreBodiesThanItHasMemoryFor) {
  start({.all_bodies_bytes = 3 << 20});
  const std::string body(2 << 20, 'x');
  SocketClient first = connect();
  first.send(post_request("/held", body));
  const auto exchange = handler_.take_held();
  ASSERT_TRUE(exchange);
  SocketClient second = connect();
  second.send(post_request("/b", body));
  EXPECT_EQ(second.response().status, 503);
  exchange->respond({200, {}, "done"});
  EXPECT_EQ(first.response().body, "done");
  EXPECT_EQ(connect().request(post_request("/c", body)).status, 200);
}

TEST_F(HttpServerTest, SaysContinueToAClientThatAsks) {
  start();
  SocketClient client = connect();
  client.send("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  EXPECT_EQ(client.request("abc").body, "POST /a  3");
}

TEST_F(HttpServerTest, RefusesWithoutReadingTheBodyWhereTheHandlerSaysSo) {
  start();
  SocketClient client = connect();
  EXPECT_EQ(
      client.request("POST /refused HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n").status,
      403);
}

TEST_F(HttpServerTest, TellsAClientWhoseRequestWasDropped) {
  start();
  EXPECT_EQ(connect().request(get_request("/dropped")).status, 500);
}

TEST_F(HttpServerTest, StreamsEachPieceAsItComes) {
  start();
  SocketClient client = connect();
  client.send(get_request("/held/stream"));
  EXPECT_THAT(client.read_until("\r\n\r\n"), HasSubstr("transfer-encoding: chunked"));
  const auto exchange = handler_.take_held();
  ASSERT_TRUE(exchange);
  EXPECT_TRUE(exchange->write("first"));
  EXPECT_EQ(client.read_until("first\r\n"), "5\r\nfirst\r\n");
  EXPECT_TRUE(exchange->write("second"));
  exchange->end();
  EXPECT_EQ(client.read_until("0\r\n\r\n"), "6\r\nsecond\r\n0\r\n\r\n");
  EXPECT_EQ(client.request(get_request("/again")).status, 200);
}

// Trap 16: a silent stream makes clients give up.
TEST_F(HttpServerTest, KeepsASilentStreamAlive) {
  start({.keepalive_ms = 50});
  SocketClient client = connect();
  client.send(get_request("/held/stream"));
  const auto exchange = handler_.take_held();
  ASSERT_TRUE(exchange);
  EXPECT_THAT(client.read_until(": alive\n\n", 1000), HasSubstr(": alive"));
  EXPECT_THAT(client.read_until(": alive\n\n", 1000), HasSubstr(": alive"));
  exchange->end();
}

// Trap 17, RELIABILITY S3.
TEST_F(HttpServerTest, NoticesAClientThatGoesAway) {
  start();
  int expected = 0;
  for (const std::string path : {"/held", "/held/stream"}) {
    for (const bool reset : {false, true}) {
      SocketClient client = connect();
      client.send(get_request(path));
      const auto exchange = handler_.take_held();
      ASSERT_TRUE(exchange);
      const auto begin = Clock::now();
      if (reset) {
        client.abort();
      } else {
        client.close();
      }
      ++expected;
      EXPECT_TRUE(eventually([&] { return handler_.gone == expected; })) << path << reset;
      EXPECT_LT(Clock::now() - begin, std::chrono::milliseconds(500));
    }
  }
}

TEST_F(HttpServerTest, AnswersAClientThatClosedItsSendingSide) {
  start();
  SocketClient client = connect();
  client.send(get_request("/half"));
  client.end_sending();
  EXPECT_EQ(client.response().body, "GET /half  0");
}

// RELIABILITY S5.
TEST_F(HttpServerTest, CutsOffAReaderThatNeverReads) {
  start({.stream_bytes = 256 << 10, .send_ms = 300});
  SocketClient client = connect();
  client.send(get_request("/held/stream"));
  const auto exchange = handler_.take_held();
  ASSERT_TRUE(exchange);
  const std::string piece(32 << 10, 'x');
  size_t written = 0;
  const auto begin = Clock::now();
  while (exchange->write(piece) && Clock::now() - begin < std::chrono::seconds(10)) {
    written += piece.size();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_LT(written, size_t{64} << 20);
  EXPECT_TRUE(eventually([&] { return handler_.gone == 1; }));
  EXPECT_TRUE(eventually([&] { return server_->connections() == 0; }));
}

// RELIABILITY S4: p99 of /health while 400 clients dawdle.
TEST_F(HttpServerTest, AnswersAtOnceWhileOthersSendOneByteAtATime) {
  start({.header_ms = 1500});
  std::vector<SocketClient> slow;
  for (int i = 0; i < 400; ++i) {
    slow.push_back(connect());
    slow.back().send("GET /slow HTTP/1.1\r\nHost: x\r\nx-a: ");
  }
  std::vector<int64_t> waits_us;
  for (int i = 0; i < 200; ++i) {
    for (size_t j = 0; j < slow.size(); j += 40) slow[j].send("y");
    const auto begin = Clock::now();
    ASSERT_EQ(connect().request(get_request("/health")).status, 200);
    waits_us.push_back(
        std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begin).count());
  }
  std::sort(waits_us.begin(), waits_us.end());
  EXPECT_LT(waits_us[197], 20'000);
  for (SocketClient& client : slow) EXPECT_TRUE(client.closes_within(3000));
  EXPECT_TRUE(eventually([&] { return server_->connections() == 0; }));
}

TEST_F(HttpServerTest, ClosesWhatSendsNothing) {
  start({.header_ms = 100, .idle_ms = 150, .body_pause_ms = 100});
  SocketClient silent = connect();
  EXPECT_TRUE(silent.closes_within(1000));
  SocketClient idle = connect();
  EXPECT_EQ(idle.request(get_request("/a")).status, 200);
  EXPECT_TRUE(idle.closes_within(1000));
  SocketClient body = connect();
  body.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc");
  EXPECT_TRUE(body.closes_within(1000));
}

TEST_F(HttpServerTest, TellsTheHandlerOfACrowdAndCutsOffAFlood) {
  start({.connections = 4});
  std::vector<SocketClient> clients;
  for (int i = 0; i < 16; ++i) clients.push_back(connect());
  ASSERT_TRUE(eventually([&] { return server_->connections() == 16; }));
  EXPECT_TRUE(connect().closes_within(1000));
  const ClientResponse crowded = clients.back().request(get_request("/a"));
  EXPECT_EQ(crowded.status, 200);
  EXPECT_THAT(crowded.head, HasSubstr("connection: close"));
  EXPECT_EQ(clients.front().request(get_request("/a")).status, 200);
}

TEST_F(HttpServerTest, KeepsNothingOfClientsThatComeAndGo) {
  start();
  const int cycles = std::getenv("SMOE_TEST_LONG") != nullptr ? 10'000 : 1'000;
  const size_t before = open_descriptors();
  for (int i = 0; i < cycles; ++i) {
    SocketClient client = connect();
    if (i % 4 == 1) client.send("GET / HT");
    if (i % 4 == 2) client.send(get_request("/held"));
    if (i % 4 == 3) client.send(get_request("/held/stream"));
    if (i % 2 == 0) {
      client.abort();
    } else {
      client.close();
    }
    if (i % 100 == 99) handler_.forget_held();
  }
  EXPECT_TRUE(eventually([&] {
    handler_.forget_held();  // as every handler does when it hears of it
    return server_->connections() == 0;
  }));
  EXPECT_TRUE(eventually([&] { return open_descriptors() <= before; }))
      << open_descriptors() << " " << before;
}

TEST_F(HttpServerTest, WaitsForAnswersUnderWayWhenItStops) {
  start();
  SocketClient idle = connect();
  ASSERT_EQ(idle.request(get_request("/a")).status, 200);
  SocketClient client = connect();
  client.send(get_request("/held"));
  const auto exchange = handler_.take_held();
  ASSERT_TRUE(exchange);
  std::thread stopping([&] { server_->stop(5000); });
  EXPECT_TRUE(idle.closes_within(1000));
  EXPECT_TRUE(eventually([&] { return !connect().connected(); }));
  exchange->respond({200, {}, "late"});
  EXPECT_EQ(client.response().body, "late");
  stopping.join();
}

TEST_F(HttpServerTest, CutsOffWhatTakesTooLongWhenItStops) {
  start();
  SocketClient client = connect();
  client.send(get_request("/held"));
  const auto exchange = handler_.take_held();
  ASSERT_TRUE(exchange);
  const auto begin = Clock::now();
  server_->stop(200);
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(2));
  EXPECT_EQ(handler_.gone, 1);
  exchange->respond({200, {}, "nobody hears"});
}

TEST_F(HttpServerTest, SaysWhoHasThePort) {
  start();
  const auto second = HttpServer::listen({.port = server_->port()}, {}, handler_);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, HasSubstr(fmt::format(":{} is taken by ", server_->port())));
  EXPECT_THAT(second.error().message, HasSubstr(fmt::format("(process {})", ::getpid())));
}

TEST_F(HttpServerTest, ServesAUnixSocketAndReplacesADeadOne) {
  const test::TempDir folder;
  const std::string path = (folder.path() / "s.sock").string();
  start({}, {.host = path});
  EXPECT_EQ(server_->url(), "unix:" + path);
  EXPECT_EQ(SocketClient(path).request(get_request("/a")).status, 200);
  const auto second = HttpServer::listen({.host = path}, {}, handler_);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, HasSubstr("another process is listening"));
  server_->stop(0);
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(HttpServerTest, LeavesAFileAloneThatHasTheNameOfItsSocket) {
  const test::TempDir folder;
  const std::string path = (folder.path() / "s.sock").string();
  ::close(::open(path.c_str(), O_CREAT | O_WRONLY, 0600));
  const auto server = HttpServer::listen({.host = path}, {}, handler_);
  ASSERT_FALSE(server);
  EXPECT_THAT(server.error().message, HasSubstr("no socket"));
  EXPECT_TRUE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace smoe::server
