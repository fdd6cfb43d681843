#include "server/server.h"

#include <utility>

#include "base/log.h"
#include "server/endpoint_table.h"
#include "server/live.h"
#include "server/page.h"
#include "server/workers.h"

namespace smoe::server {
namespace {

constexpr unsigned kWorkerThreads = 4;
constexpr size_t kMostWaitingJobs = 1024;
constexpr std::string_view kOtherEndpoint = "other";

// Adds what belongs to every answer, and counts it.
class CountedExchange final : public Exchange {
 public:
  CountedExchange(std::shared_ptr<Exchange> exchange, std::string_view endpoint,
                  std::vector<HttpHeader> headers, RequestMetrics& metrics)
      : exchange_(std::move(exchange)),
        endpoint_(endpoint),
        headers_(std::move(headers)),
        metrics_(metrics) {}

  const HttpRequest& request() const override { return exchange_->request(); }
  void respond(HttpResponse response) override {
    count(response.status);
    add_headers(response);
    exchange_->respond(std::move(response));
  }
  void begin_stream(HttpResponse head, std::string keepalive) override {
    count(head.status);
    add_headers(head);
    exchange_->begin_stream(std::move(head), std::move(keepalive));
  }
  bool write(std::string_view piece) override { return exchange_->write(piece); }
  void end() override { exchange_->end(); }
  void on_disconnect(std::function<void()> callback) override {
    exchange_->on_disconnect(std::move(callback));
  }

 private:
  void count(unsigned status) {
    metrics_.answered(endpoint_, status);
    log::debug("{}: {} {}: {}", request().id, request().method, endpoint_, status);
  }
  void add_headers(HttpResponse& response) const {
    response.headers.insert(response.headers.end(), headers_.begin(), headers_.end());
  }

  std::shared_ptr<Exchange> exchange_;
  std::string_view endpoint_;
  std::vector<HttpHeader> headers_;
  RequestMetrics& metrics_;
};

bool matches_etag(std::string_view list, std::string_view etag) {
  return list == "*" || list.find(etag) != std::string_view::npos;
}

class WholeServer final : public Server, private HttpHandler {
 public:
  WholeServer(ServerOptions options, EngineOpener opener)
      : options_(std::move(options)),
        fleet_(options_.models, options_.aliases, std::move(opener), options_.scheduler),
        service_{fleet_, metrics_, options_.service,
                 [this] { return http_ == nullptr ? 0 : http_->connections(); }},
        live_(fleet_),
        workers_(std::make_unique<Workers>(kWorkerThreads, kMostWaitingJobs)) {}
  ~WholeServer() override { stop(0); }
  WholeServer(const WholeServer&) = delete;
  WholeServer& operator=(const WholeServer&) = delete;

  Status start() {
    SMOE_TRY(http_, HttpServer::listen(options_.address, options_.limits, *this));
    return http_->start();
  }
  std::string url() const override { return http_->url(); }
  Status load() override;
  void stop(uint32_t grace_ms) override;

 private:
  std::optional<HttpResponse> admit(const HttpRequest& request) override;
  void handle(std::shared_ptr<Exchange> exchange) override;
  HttpResponse refuse(unsigned status, std::string_view message,
                      const HttpRequest& request) override;
  HttpResponse refusal(const ApiError& error, const HttpRequest& request);
  bool needs_key(const HttpRequest& request) const;
  bool is_page(const HttpRequest& request) const;
  void show_page(const ExchangePtr& exchange) const;

  const ServerOptions options_;
  RequestMetrics metrics_;
  Fleet fleet_;
  Service service_;
  LiveFeed live_;
  std::unique_ptr<HttpServer> http_;
  std::unique_ptr<Workers> workers_;
};

Status WholeServer::load() {
  const auto model = fleet_.acquire("");
  if (model) return {};
  return Error{Code::kNotFound, model.error().message};
}

void WholeServer::stop(uint32_t grace_ms) {
  if (workers_ == nullptr) return;
  live_.stop();
  if (http_) http_->stop(grace_ms);
  workers_ = nullptr;
  fleet_.stop();
}

bool WholeServer::is_page(const HttpRequest& request) const {
  return options_.service.page && (request.path == "/" || request.path == "/index.html") &&
         (request.method == "GET" || request.method == "HEAD");
}

bool WholeServer::needs_key(const HttpRequest& request) const {
  if (request.method == "OPTIONS" || is_page(request)) return false;
  const Route route = find_endpoint(request.method, request.path);
  return route.endpoint == nullptr || !route.endpoint->open;
}

HttpResponse WholeServer::refusal(const ApiError& error, const HttpRequest& request) {
  metrics_.answered(kOtherEndpoint, error.status);
  HttpResponse response = error_response(error, style_of(request.path));
  for (HttpHeader& header : cors_headers(request, options_.access))
    response.headers.push_back(std::move(header));
  return response;
}

HttpResponse WholeServer::refuse(unsigned status, std::string_view message,
                                 const HttpRequest& request) {
  return refusal({.status = status, .message = std::string(message)}, request);
}

std::optional<HttpResponse> WholeServer::admit(const HttpRequest& request) {
  if (const auto error = check_origin(request, options_.access)) return refusal(*error, request);
  if (needs_key(request))
    if (const auto error = check_key(request, options_.access)) return refusal(*error, request);
  const Route route = find_endpoint(request.method, request.path);
  const bool health = route.endpoint != nullptr && route.endpoint->open;
  if (request.crowded && !health)
    return refusal({.status = 429, .message = "too many connections at once"}, request);
  return std::nullopt;
}

void WholeServer::handle(std::shared_ptr<Exchange> exchange) {
  const HttpRequest& request = exchange->request();
  const Route route = find_endpoint(request.method, request.path);
  const bool is_live = request.path == "/live" && request.method == "GET";
  std::string_view name = route.endpoint == nullptr ? kOtherEndpoint : route.endpoint->path;
  if (is_page(request)) name = "/";
  if (is_live) name = "/live";
  auto counted = std::make_shared<CountedExchange>(
      std::move(exchange), name, cors_headers(request, options_.access), metrics_);
  if (request.method == "OPTIONS") return counted->respond({204, {}, {}});
  if (is_page(request)) return show_page(counted);
  if (is_live) return live_.watch(std::move(counted));
  if (route.endpoint == nullptr) {
    const bool known = !route.allowed.empty();
    HttpResponse response =
        error_response({.status = known ? 405U : 404U,
                        .message = known ? request.path + " is there for " + route.allowed + " only"
                                         : "there is nothing at " + request.path},
                       style_of(request.path));
    if (known) response.headers.push_back({"allow", route.allowed});
    return counted->respond(std::move(response));
  }
  if (route.endpoint->quick) return route.endpoint->answer(service_, counted);
  const bool taken = workers_->post(
      [this, endpoint = route.endpoint, counted] { endpoint->answer(service_, counted); });
  if (!taken)
    answer_error(counted, {.status = 429, .message = "too many requests are waiting already"});
}

void WholeServer::show_page(const ExchangePtr& exchange) const {
  const Page& content = page();
  const std::string etag = page_etag();
  HttpResponse response{200,
                        {{"etag", etag},
                         {"cache-control", "no-cache"},
                         {"content-security-policy", std::string(content.content_security_policy)},
                         {"x-content-type-options", "nosniff"},
                         {"referrer-policy", "no-referrer"},
                         {"x-frame-options", "DENY"}},
                        {}};
  if (matches_etag(exchange->request().header("if-none-match"), etag)) {
    response.status = 304;
  } else {
    response.headers.push_back({"content-type", "text/html; charset=utf-8"});
    if (content.gzip) response.headers.push_back({"content-encoding", "gzip"});
    response.body = content.bytes;
  }
  exchange->respond(std::move(response));
}

}  // namespace

Result<std::unique_ptr<Server>> Server::listen(const ServerOptions& options, EngineOpener opener) {
  auto server = std::make_unique<WholeServer>(options, std::move(opener));
  SMOE_DO(server->start());
  return std::unique_ptr<Server>(std::move(server));
}

}  // namespace smoe::server
