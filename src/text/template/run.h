// What one rendering may spend, and what it owns.
#pragma once

#include <cstdint>
#include <ctime>
#include <deque>

#include "base/result.h"
#include "text/template/value.h"

namespace smoe::jinja {

struct Limits {
  uint64_t output_bytes = uint64_t{64} << 20;
  uint64_t steps = 50'000'000;
  int depth = 200;  // of macros that call one another
};

class Run {
 public:
  Run(Limits limits, const std::tm& now) : limits_(limits), now_(now) {}

  const Limits& limits() const { return limits_; }
  const std::tm& now() const { return now_; }

  // Fails: kUsage when the template has run for too long.
  Status spend(uint64_t steps) {
    steps_ += steps;
    if (steps_ > limits_.steps) return out_of_steps();
    return {};
  }
  // Before a text (a container) of this size is made. Steps stand for memory too: this way no
  // template can hold more than a few hundred megabytes.
  Status spend_bytes(uint64_t bytes);
  Status spend_items(uint64_t items) { return spend(1 + items * 16); }

  // Lives as long as *this.
  Namespace* make_namespace() { return &namespaces_.emplace_back(); }

 private:
  Error out_of_steps() const;

  Limits limits_;
  std::tm now_;
  uint64_t steps_ = 0;
  std::deque<Namespace> namespaces_;
};

}  // namespace smoe::jinja
