#include "server/metrics.h"

#include <fmt/format.h>

#include <algorithm>

namespace smoe::server {
namespace {

constexpr std::array<std::string_view, 3> kMetricTypes{"counter", "gauge", "histogram"};

}  // namespace

MetricsText& MetricsText::family(std::string_view name, Type type, std::string_view help) {
  name_ = name;
  text_ += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", name, help,
                       kMetricTypes.at(static_cast<size_t>(type)));
  return *this;
}

MetricsText& MetricsText::sample(double value, std::string_view labels, std::string_view suffix) {
  text_ += name_;
  text_ += suffix;
  if (!labels.empty()) text_ += fmt::format("{{{}}}", labels);
  text_ += fmt::format(" {}\n", value);
  return *this;
}

std::string label(std::string_view name, std::string_view value) {
  std::string text = fmt::format("{}=\"", name);
  for (const char c : value) {
    if (c == '\\' || c == '"') text += '\\';
    if (c == '\n') {
      text += "\\n";
    } else {
      text += c;
    }
  }
  return text + "\"";
}

void SecondsHistogram::add(double seconds) {
  const auto bucket = std::lower_bound(kBounds.begin(), kBounds.end(), seconds);
  ++counts_.at(static_cast<size_t>(bucket - kBounds.begin()));
  sum_ += seconds;
}

void SecondsHistogram::write(MetricsText& text) const {
  uint64_t below = 0;
  for (size_t i = 0; i < counts_.size(); ++i) {
    below += counts_.at(i);
    const std::string bound = i < kBounds.size() ? fmt::format("{}", kBounds.at(i)) : "+Inf";
    text.sample(static_cast<double>(below), label("le", bound), "_bucket");
  }
  text.sample(sum_, "", "_sum").sample(static_cast<double>(below), "", "_count");
}

void RequestMetrics::answered(std::string_view endpoint, unsigned status) {
  const std::lock_guard lock(mutex_);
  ++answers_[{std::string(endpoint), status}];
}

void RequestMetrics::first_token_after(double seconds) {
  const std::lock_guard lock(mutex_);
  first_token_.add(seconds);
}

void RequestMetrics::token_after(double seconds) {
  const std::lock_guard lock(mutex_);
  between_tokens_.add(seconds);
}

void RequestMetrics::write(MetricsText& text) const {
  using Type = MetricsText::Type;
  const std::lock_guard lock(mutex_);
  text.family("smoe_requests_total", Type::kCounter, "Requests by endpoint and status.");
  for (const auto& [key, count] : answers_)
    text.sample(static_cast<double>(count), fmt::format("{},{}", label("endpoint", key.first),
                                                        label("code", std::to_string(key.second))));
  text.family("smoe_ttft_seconds", Type::kHistogram, "From a request to its first token.");
  first_token_.write(text);
  text.family("smoe_itl_seconds", Type::kHistogram, "Between two tokens of an answer.");
  between_tokens_.write(text);
}

}  // namespace smoe::server
