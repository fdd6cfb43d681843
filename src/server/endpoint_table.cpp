#include "server/endpoint_table.h"

#include <array>

namespace smoe::server {
namespace {

constexpr std::array kEndpoints{
    Endpoint{"/health", "GET", show_health, true, true},
    Endpoint{"/v1/health", "GET", show_health, true, true},
    Endpoint{"/v1/models", "GET", list_models, false, true},
    Endpoint{"/v1/models/", "GET", list_models, false, true},
    Endpoint{"/models", "GET", list_models, false, true},
    Endpoint{"/v1/chat/completions", "POST", chat_completions},
    Endpoint{"/chat/completions", "POST", chat_completions},
    Endpoint{"/v1/completions", "POST", text_completions},
    Endpoint{"/completions", "POST", text_completions},
    Endpoint{"/v1/responses", "POST", responses},
    Endpoint{"/v1/messages", "POST", messages},
    Endpoint{"/v1/messages/count_tokens", "POST", count_message_tokens},
    Endpoint{"/tokenize", "POST", tokenize},
    Endpoint{"/detokenize", "POST", detokenize},
    Endpoint{"/apply-template", "POST", apply_template},
    Endpoint{"/props", "GET", show_props, false, true},
    Endpoint{"/slots", "GET", show_slots, false, true},
    Endpoint{"/metrics", "GET", show_metrics, false, true},
};

bool fits(std::string_view pattern, std::string_view path) {
  return pattern.size() > 1 && pattern.ends_with('/')
             ? path.starts_with(pattern) && path.size() > pattern.size()
             : path == pattern;
}

}  // namespace

std::span<const Endpoint> endpoints() { return kEndpoints; }

Route find_endpoint(std::string_view method, std::string_view path) {
  Route route;
  for (const Endpoint& endpoint : kEndpoints) {
    if (!fits(endpoint.path, path)) continue;
    if (endpoint.method == method || (endpoint.method == "GET" && method == "HEAD")) {
      route.endpoint = &endpoint;
      return route;
    }
    if (!route.allowed.empty()) route.allowed += ", ";
    route.allowed += endpoint.method;
    route.allowed += endpoint.method == "GET" ? ", HEAD" : "";
  }
  return route;
}

}  // namespace smoe::server
