#include "server/served_model.h"

#include "base/units.h"
#include "formats/companion.h"
#include "server/openai_wire.h"
#include "server/sampling.h"
#include "text/chat/stop_tokens.h"

namespace smoe::server {
namespace {

constexpr uint64_t kMaxTokenizerConfigBytes = 64 * kMiB;

Result<EndTokens> end_tokens_of_model(const std::filesystem::path& model,
                                      const Tokenizer& tokenizer) {
  constexpr std::string_view kName = "tokenizer_config.json";
  SMOE_TRY(const auto config, read_companion(model, kName, kMaxTokenizerConfigBytes));
  auto ends = read_end_tokens(config.value_or(""), tokenizer);
  if (!ends) return std::move(ends).error().in(companion_path(model, kName).string());
  return ends;
}

}  // namespace

Result<std::unique_ptr<ServedModel>> ServedModel::open(const ModelEntry& entry,
                                                       const EngineOpener& opener,
                                                       const SchedulerOptions& options) {
  std::unique_ptr<ServedModel> model(new ServedModel());
  model->entry_ = entry;
  model->opened_at_ = unix_seconds();
  SMOE_TRY(model->tokenizer_, Tokenizer::load(entry.folder));
  SMOE_TRY(model->chat_, ChatFormat::load(entry.folder, *model->tokenizer_));
  SMOE_TRY(model->ends_, end_tokens_of_model(entry.folder, *model->tokenizer_));
  SMOE_TRY(model->sampling_, model_sampling(entry.folder));
  model->grammars_.emplace(*model->tokenizer_);
  model->template_source_ = template_sources(entry.folder);
  model->tool_format_ = tool_format_of(model->template_source_);
  model->reasoning_marks_ = reasoning_marks_of(model->template_source_);
  SMOE_TRY(model->holder_, opener(entry));
  SMOE_TRY(model->stops_,
           stop_tokens(entry.folder, model->engine().spec().eos, *model->tokenizer_));
  SchedulerOptions own = options;
  own.disk.identity = model->holder_->arithmetic();
  SMOE_TRY(model->scheduler_, Scheduler::open(model->holder_->engine(), *model->tokenizer_, own));
  return model;
}

Result<std::vector<TokenId>> ServedModel::encode_text(std::string_view text) const {
  SMOE_TRY(std::vector<TokenId> tokens, tokenizer_->encode(text));
  ends_.complete(tokens);
  // A text to continue has no end.
  if (ends_.add_eos && ends_.eos && !tokens.empty() && tokens.back() == *ends_.eos)
    tokens.pop_back();
  return tokens;
}

}  // namespace smoe::server
