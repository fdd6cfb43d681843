// What endpoints work with, and the endpoints themselves. Each answers its exchange, at once or
// when the engine does. Threads: a worker's, unless it says that it never waits.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "server/api_error.h"
#include "server/fleet.h"
#include "server/http_server.h"
#include "server/metrics.h"

namespace smoe::server {

struct ServiceOptions {
  std::string reasoning_field = "reasoning_content";
  std::string version;
  bool metrics = false;  // /metrics is answered
  bool page = true;      // the page is at /
};

struct Service {
  Fleet& fleet;
  RequestMetrics& metrics;
  const ServiceOptions& options;
  std::function<size_t()> connections;
};

using ExchangePtr = std::shared_ptr<Exchange>;

// OpenAI.
void chat_completions(Service& service, const ExchangePtr& exchange);
void text_completions(Service& service, const ExchangePtr& exchange);
void responses(Service& service, const ExchangePtr& exchange);
// Anthropic.
void messages(Service& service, const ExchangePtr& exchange);
void count_message_tokens(Service& service, const ExchangePtr& exchange);
// llama-server.
void tokenize(Service& service, const ExchangePtr& exchange);
void detokenize(Service& service, const ExchangePtr& exchange);
void apply_template(Service& service, const ExchangePtr& exchange);
// Never wait.
void list_models(Service& service, const ExchangePtr& exchange);
void show_health(Service& service, const ExchangePtr& exchange);
void show_props(Service& service, const ExchangePtr& exchange);
void show_slots(Service& service, const ExchangePtr& exchange);
void show_metrics(Service& service, const ExchangePtr& exchange);

void answer_json(const ExchangePtr& exchange, std::string json, unsigned status = 200);
void answer_error(const ExchangePtr& exchange, const ApiError& error);

}  // namespace smoe::server
