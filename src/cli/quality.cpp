// smoe quality: what a conversion costs, measured against the weights that it was made from.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/system_memory.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/divergence.h"
#include "cli/input.h"
#include "cli/open_model.h"
#include "cli/prompt_progress.h"
#include "cli/table.h"
#include "engine/session.h"

namespace smoe::cli {
namespace {

// The reference's logits are held for so many positions at once: a vocabulary of 150,000 then takes
// 18 MiB.
constexpr size_t kHeldPositions = 32;
constexpr double kQuantile = 0.99;

// Keeps the reference's logits of a run of positions.
class Held : public StepSink {
 public:
  explicit Held(uint32_t vocabulary)
      : vocabulary_(vocabulary), values_(kHeldPositions * size_t{vocabulary}) {}

  void logits(uint32_t index, std::span<const float> values) override {
    std::copy(values.begin(), values.end(), values_.begin() + offset(index));
  }
  std::span<const float> at(uint32_t index) const {
    return {values_.data() + offset(index), vocabulary_};
  }

 private:
  std::ptrdiff_t offset(uint32_t index) const {
    return static_cast<std::ptrdiff_t>(size_t{index} * vocabulary_);
  }

  uint32_t vocabulary_;
  std::vector<float> values_;
};

// Compares the model's logits with those that are held. `next` has the token after each position;
// the last one of a text may have none.
class Comparison : public StepSink {
 public:
  Comparison(const Held& held, std::span<const TokenId> next, Divergence& divergence)
      : held_(held), next_(next), divergence_(divergence) {}

  void logits(uint32_t index, std::span<const float> values) override {
    if (index < next_.size()) divergence_.add(values, held_.at(index), next_[index]);
  }

 private:
  const Held& held_;
  std::span<const TokenId> next_;
  Divergence& divergence_;
};

// Both models side by side: each gets half of the memory.
struct Pair {
  OpenModel model;
  OpenModel reference;
};

Result<Pair> open_pair(const Context& context) {
  const Settings& settings = context.settings;
  const uint64_t available = read_memory_limits().available_bytes;
  OpenWishes wishes{.positions = static_cast<uint32_t>(settings.window_tokens)};
  wishes.memory_bytes = settings.memory_bytes.value_or(available - available / 10) / 2;
  Pair pair;
  SMOE_TRY(pair.model, open_model(context, wishes));
  wishes.model = *settings.against;
  wishes.unrounded = true;
  SMOE_TRY(pair.reference, open_model(context, wishes));
  const uint32_t vocabulary = pair.model.engine->spec().vocabulary;
  if (vocabulary == pair.reference.engine->spec().vocabulary) return pair;
  return Error{Code::kUsage,
               fmt::format("{} has {} tokens in its vocabulary, {} has {}: only models of one "
                           "checkpoint can be compared",
                           settings.model, vocabulary, *settings.against,
                           pair.reference.engine->spec().vocabulary)};
}

// The same ids for both, or it would be no comparison.
Result<std::vector<TokenId>> tokens_of(const Context& context) {
  const Settings& settings = context.settings;
  SMOE_TRY(const Tokenizer tokenizer, load_tokenizer(settings.model));
  SMOE_TRY(const Input input, read_input(settings.text_file, context.signals));
  auto tokens = tokenizer.encode(input.text);
  if (!tokens) return std::move(tokens).error().in(input.name);
  if (tokens->size() < 2)
    return Error{Code::kUsage,
                 fmt::format("{}: {} tokens are too few to score: at least 2 are needed",
                             input.name, tokens->size())};
  const auto other = load_tokenizer(*settings.against);
  if (!other && other.error().code == Code::kNotFound) return tokens;
  if (!other) return other.error();
  SMOE_TRY(const std::vector<TokenId> theirs, other->encode(input.text));
  if (theirs == *tokens) return tokens;
  return Error{Code::kUsage, fmt::format("{} and {} cut the text into different tokens: only "
                                         "models of one checkpoint can be compared",
                                         settings.model, *settings.against)};
}

Status compare(Context& context, Pair& pair, std::span<const TokenId> tokens,
               Divergence& divergence) {
  SMOE_TRY(Session model, Session::open(*pair.model.engine));
  SMOE_TRY(Session reference, Session::open(*pair.reference.engine));
  Held held(pair.model.engine->spec().vocabulary);
  PromptProgress progress(context.terminal);
  constexpr auto kQuiet = [](size_t, size_t) {};
  const size_t window = context.settings.window_tokens;
  for (size_t begin = 0; begin < tokens.size(); begin += window) {
    const auto part = tokens.subspan(begin, std::min(window, tokens.size() - begin));
    model.rewind(0);
    reference.rewind(0);
    for (size_t at = 0; at < part.size(); at += kHeldPositions) {
      const auto piece = part.subspan(at, std::min(kHeldPositions, part.size() - at));
      Comparison comparison(held, part.subspan(std::min(at + 1, part.size())), divergence);
      SMOE_DO(reference.score(piece, held, kQuiet));
      SMOE_DO(model.score(piece, comparison, kQuiet));
      progress.update(begin + at + piece.size(), tokens.size());
    }
  }
  progress.clear();
  return {};
}

uint64_t stored_bytes(const Engine& engine) {
  return engine.plan().scout_bytes + engine.vault_bytes();
}

std::string table(const Pair& pair, const Divergence& divergence) {
  const std::vector<std::vector<std::string>> rows = {
      {"perplexity", fmt::format("{:.4f}", divergence.perplexity()),
       fmt::format("{:.4f} of the reference, {:+.2f} %", divergence.reference_perplexity(),
                   100 * (divergence.perplexity() / divergence.reference_perplexity() - 1))},
      {"KL divergence", fmt::format("{:.5f}", divergence.mean()),
       fmt::format("nats on average; {:.5f} at the 99th percentile",
                   divergence.quantile(kQuantile))},
      {"same first choice", fmt::format("{:.2f} %", 100 * divergence.agreement()),
       fmt::format("of {} positions", divergence.positions())},
      {"size", format_bytes(stored_bytes(*pair.model.engine)),
       fmt::format("{} the reference", format_bytes(stored_bytes(*pair.reference.engine)))},
  };
  return render_table({{"what"}, {"value", true}, {"against the reference"}}, rows);
}

std::string json_text(const Pair& pair, const Divergence& divergence) {
  JsonWriter json;
  json.begin_object();
  json.member("perplexity", divergence.perplexity());
  json.member("reference_perplexity", divergence.reference_perplexity());
  json.member("kl_mean", divergence.mean());
  json.member("kl_p99", divergence.quantile(kQuantile));
  json.member("top1_agreement", divergence.agreement());
  json.member("positions", divergence.positions());
  json.member("bytes", stored_bytes(*pair.model.engine));
  json.member("reference_bytes", stored_bytes(*pair.reference.engine));
  json.end_object();
  return json.take() + "\n";
}

}  // namespace

Outcome quality_command(Context& context) {
  const Settings& settings = context.settings;
  const Signals::AtOnce at_once(context.signals);
  SMOE_TRY(Pair pair, open_pair(context));
  for (const OpenModel* one : {&pair.model, &pair.reference})
    if (settings.window_tokens > one->engine->context())
      return Error{Code::kUsage, fmt::format("--window {} does not fit into the context of {}",
                                             settings.window_tokens, one->engine->context())};
  SMOE_TRY(const std::vector<TokenId> tokens, tokens_of(context));
  Divergence divergence;
  SMOE_DO(compare(context, pair, tokens, divergence));
  SMOE_DO(context.terminal.print(settings.json ? json_text(pair, divergence)
                                               : table(pair, divergence)));
  return ExitStatus::kDone;
}

}  // namespace smoe::cli
