// Counters for /metrics, in Prometheus' text format 0.0.4.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace smoe::server {

// Builds the text: families in the order in which they are begun.
class MetricsText {
 public:
  enum class Type : uint8_t { kCounter, kGauge, kHistogram };
  // Every family once, before its samples.
  MetricsText& family(std::string_view name, Type type, std::string_view help);
  // A sample of the last family. `labels`: "a=\"b\"" without braces, values escaped.
  MetricsText& sample(double value, std::string_view labels = "", std::string_view suffix = "");
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
  std::string name_;
};

// A label's value with quotes, backslashes and line ends escaped, and quotes around it.
std::string label(std::string_view name, std::string_view value);

// Seconds, in buckets from a millisecond to ten minutes. Threads: one at a time.
class SecondsHistogram {
 public:
  void add(double seconds);
  void write(MetricsText& text) const;

 private:
  static constexpr std::array kBounds{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                                      0.5,   1.0,    2.5,   5.0,  10.0,  30.0, 60., 600.0};
  std::array<uint64_t, kBounds.size() + 1> counts_{};
  double sum_ = 0;
};

// What requests did, counted. Threads: any.
class RequestMetrics {
 public:
  void answered(std::string_view endpoint, unsigned status);
  void first_token_after(double seconds);
  void token_after(double seconds);
  void write(MetricsText& text) const;

 private:
  mutable std::mutex mutex_;  // guards all below
  std::map<std::pair<std::string, unsigned>, uint64_t> answers_;
  SecondsHistogram first_token_;
  SecondsHistogram between_tokens_;
};

}  // namespace smoe::server
