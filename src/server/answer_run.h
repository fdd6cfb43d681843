// One request on its way through the scheduler: its prompts go in, its responder hears what comes
// out, and its client's leaving ends it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/token.h"
#include "server/answer_parser.h"
#include "server/fleet.h"
#include "server/http_server.h"
#include "server/metrics.h"
#include "server/responder.h"
#include "server/sampling.h"
#include "text/grammar/token_masks.h"

namespace smoe::server {

struct AnswerCall {
  std::vector<std::vector<TokenId>> prompts;
  uint32_t choices = 1;  // of each prompt; choice i has the seed + i
  Sampling sampling;
  std::optional<uint32_t> top_logprobs = {};  // how many alternatives; nothing for no logprobs
  AnswerParser::Options parser = {};
  std::shared_ptr<TokenMasks> masks = {};  // what the answer may be; nullptr: anything
  std::string prompt_field = "messages";   // blamed when a prompt is too long
};

// Returns at once; the answer goes to the responder from the engine's thread. A prompt that does
// not fit, and a full queue, are refused before anything is sent. `metrics` outlives the lease.
void run_answer(ModelLease model, AnswerCall call, std::unique_ptr<Responder> responder,
                std::shared_ptr<Exchange> exchange, RequestMetrics& metrics);

}  // namespace smoe::server
