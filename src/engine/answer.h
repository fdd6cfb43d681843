// One answer as it grows: from logits to the next token, its text, and the answer's end.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/token.h"
#include "engine/sampler.h"
#include "text/stop_matcher.h"
#include "text/token_filter.h"
#include "text/tokenizer.h"

namespace smoe {

struct GenerationOptions {
  SamplerOptions sampler;
  uint32_t max_tokens = 0;           // 0: until a stop or the context's end
  std::vector<TokenId> stop_tokens;  // end the text, are not part of it
  std::vector<std::string> stop_strings;
};

enum class Finish : uint8_t {
  kStop,         // a stop token or string
  kLength,       // max_tokens
  kContextFull,  // no room for another token
  kCancelled,
};

// Of the model itself: before biases, penalties and temperature.
struct TokenLogprobs {
  float logprob = 0;
  std::vector<std::pair<TokenId, float>> top;  // most likely first, ties to the lower id
};

// Over the first `usable` logits. Cost: two passes.
TokenLogprobs logprobs_of(std::span<const float> logits, uint32_t usable, TokenId token,
                          uint32_t top);

class Answer {
 public:
  // Lifetime: ends before the tokenizer and `work`, which answers may share. `filter` may be null.
  Answer(GenerationOptions options, uint32_t vocabulary, const Tokenizer& tokenizer,
         std::unique_ptr<TokenFilter> filter, SamplerWork& work);

  // Draws the token that follows `history` (the prompt and tokens()). Nothing when the answer ended
  // instead: with a stop token, or because the filter allows no other. The token may end it too:
  // see finish(). Fails: kNumeric.
  Result<std::optional<TokenId>> draw(std::span<const float> logits,
                                      std::span<const TokenId> history);
  // Ends the answer for a reason from outside.
  void end(Finish why) { finish_ = why; }

  // Text that became certain with the last draw, until the next one.
  const std::string& text() const { return text_; }
  // What was held back, once the answer has ended.
  std::string rest();

  std::optional<Finish> finish() const { return finish_; }
  const std::vector<TokenId>& tokens() const { return tokens_; }  // without the stop token
  const std::string& stop_string() const { return stops_.matched_stop(); }  // that ended it
  uint32_t usable() const { return usable_; }  // ids below may be drawn

 private:
  bool allow_any();

  GenerationOptions options_;
  uint32_t usable_;
  Sampler sampler_;
  Detokenizer detokenizer_;
  StopMatcher stops_;
  std::unique_ptr<TokenFilter> filter_;
  std::vector<uint64_t> allowed_;
  std::vector<TokenId> tokens_;
  std::string text_;
  std::optional<Finish> finish_;
};

}  // namespace smoe
