#include "server/access.h"

#include <algorithm>
#include <cstdint>

namespace smoe::server {
namespace {

constexpr std::string_view kBearer = "bearer ";

std::string lower_text(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}

bool is_listed(const std::vector<std::string>& list, std::string_view item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

// Looks at every byte of `given` whatever is found.
bool same_secret(std::string_view given, std::string_view key) {
  uint8_t difference = given.size() == key.size() ? 0 : 1;
  for (size_t i = 0; i < given.size(); ++i) {
    const char expected = key.empty() ? '\0' : key[i % key.size()];
    difference = static_cast<uint8_t>(difference | (given[i] ^ expected));
  }
  return difference == 0;
}

// The part of "http://host:port" behind the scheme.
std::string_view authority_of(std::string_view origin) {
  const size_t scheme = origin.find("://");
  return scheme == std::string_view::npos ? std::string_view() : origin.substr(scheme + 3);
}

bool allowed_origin(std::string_view origin, const AccessPolicy& policy) {
  if (is_listed(policy.cors_origins, "*") || is_listed(policy.cors_origins, origin)) return true;
  return is_listed(policy.cors_origins, "localhost") && is_loopback(host_of(authority_of(origin)));
}

std::string_view key_of(const HttpRequest& request) {
  const std::string_view bearer = request.header("authorization");
  if (lower_text(bearer.substr(0, kBearer.size())) == kBearer) return bearer.substr(kBearer.size());
  return request.header("x-api-key");
}

}  // namespace

std::string host_of(std::string_view host_header) {
  if (host_header.starts_with('[')) {
    const size_t end = host_header.find(']');
    if (end == std::string_view::npos) return "";
    return lower_text(host_header.substr(1, end - 1));
  }
  return lower_text(host_header.substr(0, host_header.find(':')));
}

bool is_loopback(std::string_view host) {
  if (host == "localhost" || host == "::1" || host.ends_with(".localhost")) return true;
  // A name may begin like an address: 127.0.0.1.example is none.
  return host.starts_with("127.") && host.find_first_not_of("0123456789.") == std::string::npos;
}

std::optional<ApiError> check_origin(const HttpRequest& request, const AccessPolicy& policy) {
  const std::string_view host_header = request.header("host");
  const std::string host = host_of(host_header);
  const bool known = request.local_socket || is_loopback(host) ||
                     (!host.empty() && host == lower_text(policy.bind_host)) ||
                     is_listed(policy.allowed_hosts, "*") || is_listed(policy.allowed_hosts, host);
  if (!known)
    return ApiError{403, "the Host header names '" + std::string(host_header) +
                             "', which is not this server; --allowed-hosts adds names"};
  const std::string_view origin = request.header("origin");
  if (origin.empty() || authority_of(origin) == host_header || allowed_origin(origin, policy))
    return std::nullopt;
  return ApiError{403, "pages of '" + std::string(origin) +
                           "' may not use this server; --cors-origins allows them"};
}

std::optional<ApiError> check_key(const HttpRequest& request, const AccessPolicy& policy) {
  if (policy.keys.empty()) return std::nullopt;
  const std::string_view given = key_of(request);
  bool right = false;
  for (const std::string& key : policy.keys) right = same_secret(given, key) || right;
  if (right) return std::nullopt;
  return ApiError{.status = 401,
                  .message = given.empty() ? "this server wants an API key: Authorization: Bearer "
                                             "KEY, or x-api-key: KEY"
                                           : "the API key is wrong",
                  .code = "invalid_api_key"};
}

std::vector<HttpHeader> cors_headers(const HttpRequest& request, const AccessPolicy& policy) {
  const std::string_view origin = request.header("origin");
  if (origin.empty() || !allowed_origin(origin, policy)) return {};
  std::vector<HttpHeader> headers{{"access-control-allow-origin", std::string(origin)},
                                  {"vary", "Origin"},
                                  {"access-control-expose-headers", "x-request-id"}};
  if (request.method == "OPTIONS") {
    headers.push_back({"access-control-allow-methods", "GET, POST, OPTIONS"});
    const std::string_view wanted = request.header("access-control-request-headers");
    headers.push_back({"access-control-allow-headers",
                       wanted.empty() ? "authorization, content-type" : std::string(wanted)});
    headers.push_back({"access-control-max-age", "600"});
  }
  return headers;
}

std::vector<std::string> keys_of(std::string_view text) {
  std::vector<std::string> keys;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
    if (!line.empty() && line.front() != '#') keys.emplace_back(line);
  }
  return keys;
}

}  // namespace smoe::server
