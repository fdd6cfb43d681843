// smoe eval: perplexity of a text.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "base/json.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/open_model.h"
#include "engine/session.h"
#include "text/tokenizer.h"

namespace smoe::cli {
namespace {

// Sums the negative log likelihood of each token given those before it in its window.
class Likelihood : public StepSink {
 public:
  void begin(std::span<const TokenId> window) { window_ = window; }

  void logits(uint32_t index, std::span<const float> values) override {
    if (index + 1 >= window_.size()) return;  // its next token is in no window
    const float largest = *std::max_element(values.begin(), values.end());
    double sum = 0;
    for (const float value : values) sum += std::exp(static_cast<double>(value - largest));
    const float logit = values[index_of(window_[index + 1])];
    total_ += std::log(sum) + static_cast<double>(largest - logit);
    ++scored_;
  }

  uint64_t scored() const { return scored_; }
  double perplexity() const { return std::exp(total_ / static_cast<double>(scored_)); }

 private:
  std::span<const TokenId> window_;
  double total_ = 0;
  uint64_t scored_ = 0;
};

Status score_windows(Context& context, Engine& engine, std::span<const TokenId> tokens,
                     Likelihood& likelihood) {
  SMOE_TRY(Session session, Session::open(engine));
  const CancelOnSignal cancel(context.signals, engine);
  const size_t window = context.settings.window_tokens;
  const bool shown = context.terminal.shows_progress();
  for (size_t begin = 0; begin < tokens.size(); begin += window) {
    const auto part = tokens.subspan(begin, std::min(window, tokens.size() - begin));
    likelihood.begin(part);
    session.rewind(0);
    SMOE_DO(session.score(part, likelihood, [&](size_t done, size_t) {
      if (shown)
        context.terminal.print_note(
            fmt::format("\r\033[K{} of {} tokens", begin + done, tokens.size()));
    }));
  }
  if (shown) context.terminal.print_note("\r\033[K");
  return {};
}

}  // namespace

Outcome eval_command(Context& context) {
  const Settings& settings = context.settings;
  SMOE_TRY(const OpenModel model,
           open_model(context, {.positions = static_cast<uint32_t>(settings.window_tokens)}));
  Engine& engine = *model.engine;
  if (settings.window_tokens > engine.context())
    return Error{Code::kUsage, fmt::format("--window {} does not fit into the context of {}",
                                           settings.window_tokens, engine.context())};
  SMOE_TRY(const Tokenizer tokenizer, Tokenizer::load(settings.model));
  SMOE_TRY(const Input input, read_input(settings.text_file, context.signals));
  auto tokens = tokenizer.encode(input.text);
  if (!tokens) return std::move(tokens).error().in(input.name);
  if (tokens->size() < 2)
    return Error{Code::kUsage,
                 fmt::format("{}: {} tokens are too few to score: at least 2 are needed",
                             input.name, tokens->size())};

  Likelihood likelihood;
  SMOE_DO(score_windows(context, engine, *tokens, likelihood));
  if (settings.json) {
    JsonWriter json;
    json.begin_object().member("perplexity", likelihood.perplexity());
    json.member("tokens", uint64_t{tokens->size()})
        .member("scored", likelihood.scored())
        .end_object();
    SMOE_DO(context.terminal.print(json.take() + "\n"));
  } else {
    SMOE_DO(context.terminal.print(fmt::format(
        "perplexity {:.4f} ({} of {} tokens scored, windows of {}, each from its second "
        "token on)\n",
        likelihood.perplexity(), likelihood.scored(), tokens->size(), settings.window_tokens)));
  }
  return ExitStatus::kDone;
}

}  // namespace smoe::cli
