#include "text/stop_matcher.h"

#include <algorithm>
#include <utility>

namespace smoe {

StopMatcher::StopMatcher(std::vector<std::string> stops) : stops_(std::move(stops)) {
  std::erase_if(stops_, [](const std::string& stop) { return stop.empty(); });
}

std::string StopMatcher::push(std::string_view piece) {
  std::string certain;
  for (const char byte : piece) {
    if (matched_) break;
    held_ += byte;
    size_t longest = 0;  // of several that end here, the longest begins first
    for (const std::string& stop : stops_)
      if (held_.ends_with(stop)) longest = std::max(longest, stop.size());
    if (longest > 0) {
      matched_ = true;
      matched_stop_ = held_.substr(held_.size() - longest);
      certain += std::string_view(held_).substr(0, held_.size() - longest);
      held_.clear();
      break;
    }
    const size_t free = held_.size() - possible_start();
    certain += std::string_view(held_).substr(0, free);
    held_.erase(0, free);
  }
  return certain;
}

std::string StopMatcher::finish() { return std::exchange(held_, {}); }

size_t StopMatcher::possible_start() const {
  size_t longest = 0;
  for (const std::string& stop : stops_) {
    for (size_t length = std::min(held_.size(), stop.size() - 1); length > longest; --length) {
      if (!held_.ends_with(std::string_view(stop).substr(0, length))) continue;
      longest = length;
      break;
    }
  }
  return longest;
}

}  // namespace smoe
