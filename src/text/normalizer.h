// The normaliser of a tokenizer.json: what happens to text before it is split.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace smoe {

class Normalizer {
 public:
  // `description` is the value of "normalizer"; null is no normalisation.
  // Fails: kUnsupported with the step's name, kCorrupt.
  static Result<Normalizer> from_json(const Json& description);

  bool changes_nothing() const { return steps_.empty(); }
  // Needs valid UTF-8. Cost: linear, also for text made of combining marks.
  std::string normalize(std::string_view text) const;

 private:
  enum class Step { kNfc };
  Status add_step(const Json& description);

  std::vector<Step> steps_;
};

// Canonical composition, as the reference library's Unicode version has it.
std::string to_nfc(std::string_view text);

}  // namespace smoe
