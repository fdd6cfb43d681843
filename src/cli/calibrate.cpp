#include "cli/calibrate.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "cli/input.h"
#include "cli/open_model.h"
#include "cli/prompt_progress.h"
#include "engine/session.h"
#include "shatter/unshattered.h"

namespace smoe::cli {
namespace {

// Tokens that see each other. The sums do not depend on it being a chunk, too.
constexpr uint32_t kWindowTokens = 512;

class Unheard final : public StepSink {
 public:
  void logits(uint32_t /*index*/, std::span<const float> /*values*/) override {}
};

Status read_windows(Context& context, Engine& engine, std::span<const TokenId> tokens) {
  SMOE_TRY(Session session, Session::open(engine));
  const CancelOnSignal cancel(context.signals, engine);
  PromptProgress progress(context.terminal);
  Unheard unheard;
  for (size_t begin = 0; begin < tokens.size(); begin += engine.context()) {
    const auto part =
        tokens.subspan(begin, std::min<size_t>(engine.context(), tokens.size() - begin));
    session.rewind(0);
    // Every position's logits are asked for, so that the head meets them all.
    SMOE_DO(session.score(
        part, unheard, [&](size_t done, size_t) { progress.update(begin + done, tokens.size()); }));
  }
  return {};
}

}  // namespace

Result<TextImportance> importance_of_text(Context& context) {
  const Settings& settings = context.settings;
  SMOE_TRY(const Tokenizer tokenizer, load_tokenizer(settings.checkpoint));
  SMOE_TRY(const Input input, read_input(settings.calibration_file, context.signals));
  auto tokens = tokenizer.encode(input.text);
  if (!tokens) return std::move(tokens).error().in(input.name);
  if (tokens->empty())
    return Error{Code::kUsage, input.name + ": holds no token to calibrate with"};
  SMOE_TRY(ModelFiles files, open_unshattered(settings.checkpoint));
  // Before the importance, which holds memory of the device until it is finished.
  ThreadPool pool(threads_of(settings));
  SMOE_TRY(const std::unique_ptr<Device> device, make_cpu_device(pool, settings.kernels));
  TextImportance result;
  result.spec = std::make_unique<ModelSpec>(files.spec);
  result.importance = std::make_unique<Importance>(*result.spec);
  EngineOptions options;
  options.context = std::min(files.spec.context, kWindowTokens);
  options.importance = result.importance.get();
  SMOE_TRY(const std::unique_ptr<Engine> engine, Engine::open(std::move(files), options, *device));
  SMOE_DO(read_windows(context, *engine, *tokens));
  SMOE_DO(result.importance->finish());
  return result;
}

}  // namespace smoe::cli
