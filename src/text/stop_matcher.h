// Finds stop strings in text that arrives in pieces.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace smoe {

// The result does not depend on how the text is cut into pieces: bytes count one by one, and the
// first stop string to be complete ends the text just before it begins (of several that end
// together, before the one that begins first). Until then only a tail that may still become a stop
// string is held back.
class StopMatcher {
 public:
  // Empty strings are ignored.
  explicit StopMatcher(std::vector<std::string> stops);

  // Text that is certain now. After a match, always empty.
  std::string push(std::string_view piece);
  // What was held back, when no more text comes.
  std::string finish();
  bool matched() const { return matched_; }
  // The stop string that ended the text; empty before.
  const std::string& matched_stop() const { return matched_stop_; }

 private:
  // Length of the longest suffix of held_ that is a proper prefix of a stop string.
  size_t possible_start() const;

  std::vector<std::string> stops_;
  std::string held_;
  bool matched_ = false;
  std::string matched_stop_;
};

}  // namespace smoe
