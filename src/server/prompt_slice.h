// How much of a waiting prompt a step takes along while others wait for their next token.
#pragma once

#include <algorithm>
#include <cstdint>

namespace smoe::server {

// A slice may compute as long as the step waits for the disk anyway: almost any slice reads most
// of a layer's experts, so that a long one costs the disk no more than a short one. Where there is
// nothing to wait for, it may hold the others up for kMostNs. Threads: one.
class PromptSlice {
 public:
  explicit PromptSlice(uint32_t most_tokens)
      : most_tokens_(most_tokens), tokens_(std::min(most_tokens, kFirstTokens)) {}

  uint32_t tokens() const { return tokens_; }

  // A step took a whole slice along; of its time it waited so long for records.
  void step_ended(uint64_t step_ns, uint64_t stall_ns) {
    const uint64_t computed_ns = step_ns - std::min(step_ns, stall_ns);
    const uint64_t allowed_ns = std::max(stall_ns, kMostNs);
    if (computed_ns > allowed_ns) {
      tokens_ = std::max(tokens_ / 2, std::min(most_tokens_, kFewestTokens));
    } else if (computed_ns * 3 < allowed_ns) {
      tokens_ = std::min(tokens_ * 2, most_tokens_);
    }
  }

  static constexpr uint32_t kFirstTokens = 64;
  static constexpr uint32_t kFewestTokens = 16;
  static constexpr uint64_t kMostNs = 150'000'000;

 private:
  uint32_t most_tokens_;
  uint32_t tokens_;
};

}  // namespace smoe::server
