// A prompt in, text out: sampling, stop tokens and stop strings around a session.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/thread_pool.h"
#include "base/token.h"
#include "engine/answer.h"
#include "engine/session.h"
#include "text/token_filter.h"
#include "text/tokenizer.h"

namespace smoe {

struct Generation {
  Finish finish = Finish::kStop;
  std::vector<TokenId> tokens;  // generated, without the stop token
  size_t prompt_tokens = 0;
  uint64_t prompt_ns = 0;       // until the prompt's logits were there
  uint64_t first_token_ns = 0;  // from the call to the first token: prompt and one draw
  uint64_t decode_ns = 0;       // all tokens after the first
};

// Draws only what `filter` allows, if there is one. Calls `on_text` with each piece of text as soon
// as it is certain. Fails: as Session::append; an error in the middle of the text comes after its
// pieces.
Result<Generation> generate(Session& session, const Tokenizer& tokenizer,
                            std::span<const TokenId> prompt, const GenerationOptions& options,
                            Session::Progress prompt_progress,
                            FunctionRef<void(std::string_view text)> on_text,
                            std::unique_ptr<TokenFilter> filter = nullptr);

}  // namespace smoe
