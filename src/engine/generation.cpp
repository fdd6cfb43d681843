#include "engine/generation.h"

#include <algorithm>
#include <limits>

#include "base/clock.h"
#include "text/stop_matcher.h"

namespace smoe {
namespace {

bool contains(const std::vector<TokenId>& tokens, TokenId token) {
  return std::find(tokens.begin(), tokens.end(), token) != tokens.end();
}

}  // namespace

Result<Generation> generate(Session& session, const Tokenizer& tokenizer,
                            std::span<const TokenId> prompt, const GenerationOptions& options,
                            Session::Progress prompt_progress,
                            FunctionRef<void(std::string_view text)> on_text) {
  Generation result;
  if (prompt.empty() && session.logits().empty())
    return Error{Code::kUsage,
                 "the prompt is empty: a model needs at least one token to go on from"};
  result.prompt_tokens = prompt.size();
  const uint64_t begin_ns = now_ns();
  if (Status status = session.append(prompt, prompt_progress); !status) {
    if (status.error().code != Code::kCancelled) return std::move(status).error();
    result.finish = Finish::kCancelled;
    return result;
  }
  result.prompt_ns = now_ns() - begin_ns;

  const auto vocabulary = static_cast<uint32_t>(session.logits().size());
  Sampler sampler(options.sampler, vocabulary, static_cast<uint32_t>(tokenizer.size()));
  Detokenizer detokenizer(tokenizer);
  StopMatcher stops(options.stop_strings);
  const size_t most =
      options.max_tokens > 0 ? options.max_tokens : std::numeric_limits<size_t>::max();
  const auto emit = [&](std::string_view text) {
    if (const std::string certain = stops.push(text); !certain.empty()) on_text(certain);
  };

  result.finish = Finish::kLength;
  uint64_t first_ns = begin_ns + result.prompt_ns;
  while (result.tokens.size() < most) {
    SMOE_TRY(const TokenId token, sampler.sample(session.logits(), session.tokens()));
    if (result.tokens.empty()) {
      first_ns = now_ns();
      result.first_token_ns = first_ns - begin_ns;
    }
    if (contains(options.stop_tokens, token)) {
      result.finish = Finish::kStop;
      break;
    }
    result.tokens.push_back(token);
    emit(detokenizer.push(token));
    if (stops.matched()) {
      result.finish = Finish::kStop;
      break;
    }
    if (result.tokens.size() == most) break;
    if (session.room() == 0) {
      result.finish = Finish::kContextFull;
      break;
    }
    if (Status status = session.append(token); !status) {
      if (status.error().code != Code::kCancelled) return std::move(status).error();
      result.finish = Finish::kCancelled;
      break;
    }
  }
  result.decode_ns = now_ns() - first_ns;
  emit(detokenizer.finish());
  if (!stops.matched())
    if (const std::string rest = stops.finish(); !rest.empty()) on_text(rest);
  return result;
}

}  // namespace smoe
