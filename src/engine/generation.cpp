#include "engine/generation.h"

#include "base/clock.h"

namespace smoe {

Result<Generation> generate(Session& session, const Tokenizer& tokenizer,
                            std::span<const TokenId> prompt, const GenerationOptions& options,
                            Session::Progress prompt_progress,
                            FunctionRef<void(std::string_view text)> on_text,
                            std::unique_ptr<TokenFilter> filter) {
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

  SamplerWork work;
  Answer answer(options, static_cast<uint32_t>(session.logits().size()), tokenizer,
                std::move(filter), work);
  const auto emit = [&](std::string_view text) {
    if (!text.empty()) on_text(text);
  };
  uint64_t first_ns = begin_ns + result.prompt_ns;
  while (!answer.finish()) {
    SMOE_TRY(const std::optional<TokenId> token, answer.draw(session.logits(), session.tokens()));
    if (result.first_token_ns == 0) {
      first_ns = now_ns();
      result.first_token_ns = first_ns - begin_ns;
    }
    emit(answer.text());
    if (answer.finish()) break;
    if (session.room() == 0) {
      answer.end(Finish::kContextFull);
    } else if (Status status = session.append(*token); !status) {
      if (status.error().code != Code::kCancelled) return std::move(status).error();
      answer.end(Finish::kCancelled);
    }
  }
  result.decode_ns = now_ns() - first_ns;
  emit(answer.rest());
  result.tokens = answer.tokens();
  result.finish = *answer.finish();
  return result;
}

}  // namespace smoe
