// The pre-tokenizer of a tokenizer.json: cuts text into the pieces within which tokens are formed.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "text/regex.h"
#include "text/sourced_text.h"

namespace smoe {

// Text and the pieces that it is cut into; what no piece covers is dropped. Pieces are not empty.
struct Pieces {
  SourcedText content;
  std::vector<TextRange> ranges;

  std::string_view at(size_t piece) const {
    return std::string_view(content.text)
        .substr(ranges[piece].begin, ranges[piece].end - ranges[piece].begin);
  }
  // Begins another content, as rewriting steps need it.
  Pieces empty_like() const { return {content.empty_like(), {}}; }
};

// One step: cuts pieces further or rewrites them. Adding a kind means a class here and its line in
// Pretokenizer::add_step. Threads: any, at once.
class PretokenizerStep {
 public:
  virtual ~PretokenizerStep() = default;
  virtual Status apply(Pieces& pieces) const = 0;
};

class Pretokenizer {
 public:
  // `description` is the value of "pre_tokenizer"; null leaves text in one piece.
  // Fails: kUnsupported with the step's name, kCorrupt.
  static Result<Pretokenizer> from_json(const Json& description);

  // Needs valid UTF-8. Fails: kUnsupported when a regex passes its limits.
  Result<Pieces> split(SourcedText text) const;
  Result<Pieces> split(std::string text) const {
    const size_t bytes = text.size();
    return split(SourcedText{.text = std::move(text), .first_bytes = std::min<size_t>(bytes, 1)});
  }

  // Whether pieces are written in the byte alphabet (text/byte_alphabet.h).
  bool spells_bytes() const { return spells_bytes_; }

 private:
  Status add_step(const Json& description);
  Status add_split(const class StepFields& step);
  Status add_byte_level(const class StepFields& step);
  Status add_digits(const class StepFields& step);
  Status add_punctuation(const class StepFields& step);
  Status add_metaspace(const class StepFields& step);

  std::vector<std::unique_ptr<PretokenizerStep>> steps_;
  bool spells_bytes_ = false;
};

}  // namespace smoe
