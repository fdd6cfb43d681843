// Who may ask: the Host and Origin of a request, its key, and what browsers of other sites are
// told.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/api_error.h"
#include "server/http_server.h"

namespace smoe::server {

struct AccessPolicy {
  std::string bind_host = "127.0.0.1";
  std::vector<std::string> keys = {};           // none: everybody may ask
  std::vector<std::string> allowed_hosts = {};  // names beside loopback and bind_host; "*": any
  std::vector<std::string> cors_origins = {};   // "https://a.example", "localhost" (any port), "*"
};

// The host of "host", "host:port", "[v6]:port", in lower case, without brackets.
std::string host_of(std::string_view host_header);
bool is_loopback(std::string_view host);

// Refuses what a page of another site sends through a browser of this machine: a Host that is
// nobody we know (DNS rebinding), an Origin that is neither this server nor allowed. Status 403.
std::optional<ApiError> check_origin(const HttpRequest& request, const AccessPolicy& policy);

// Status 401 unless the request bears one of the keys, as Bearer or x-api-key.
// Cost: depends on the lengths of the keys, never on how much of one is right.
std::optional<ApiError> check_key(const HttpRequest& request, const AccessPolicy& policy);

// What a browser needs to let the page of an allowed Origin read the answer; nothing otherwise.
std::vector<HttpHeader> cors_headers(const HttpRequest& request, const AccessPolicy& policy);

// Keys of a file: one a line; empty lines and those that begin with '#' are none.
std::vector<std::string> keys_of(std::string_view text);

}  // namespace smoe::server
