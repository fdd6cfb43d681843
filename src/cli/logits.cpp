// smoe logits: every position's logits as a safetensors file.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/open_model.h"
#include "cli/output_file.h"
#include "engine/session.h"
#include "formats/safetensors.h"

namespace smoe::cli {
namespace {

constexpr uint64_t kAlignment = 64;

// Writes results where they belong as they come, so that memory does not grow with the text.
class FileSink : public StepSink {
 public:
  FileSink(File& file, const SafetensorsLayout& layout, bool hidden)
      : file_(file), layout_(layout), hidden_(hidden) {}

  void logits(uint32_t index, std::span<const float> values) override {
    put(*layout_.header.find("logits"), uint64_t{index} * values.size_bytes(), values);
  }
  bool wants_hidden() const override { return hidden_; }
  void hidden(uint32_t layer, std::span<const float> values) override {
    // A prompt may come in several chunks, in order.
    if (layer >= hidden_bytes_.size()) hidden_bytes_.resize(layer + 1);
    put(*layout_.header.find(fmt::format("hidden.{}", layer)), hidden_bytes_[layer], values);
    hidden_bytes_[layer] += values.size_bytes();
  }

  Status take_status() { return std::move(status_); }

 private:
  void put(const TensorInfo& tensor, uint64_t offset, std::span<const float> values) {
    if (status_) status_ = file_.write_at(tensor.begin + offset, std::as_bytes(values));
  }

  File& file_;
  const SafetensorsLayout& layout_;
  bool hidden_;
  std::vector<uint64_t> hidden_bytes_;
  Status status_;
};

Result<SafetensorsLayout> lay_out(const ModelSpec& spec, uint64_t tokens, bool hidden) {
  std::vector<TensorInfo> tensors;
  tensors.push_back({"logits", DType::kF32, {tokens, spec.vocabulary}});
  if (hidden)
    for (size_t layer = 0; layer <= spec.layers.size(); ++layer)
      tensors.push_back({fmt::format("hidden.{}", layer), DType::kF32, {tokens, spec.width}});
  return lay_out_safetensors(std::move(tensors), {}, kAlignment);
}

}  // namespace

Outcome logits_command(Context& context) {
  const Settings& settings = context.settings;
  SMOE_DO(check_output(*settings.output, {settings.model}));
  SMOE_TRY(const OpenModel model,
           open_model(context, {.positions = static_cast<uint32_t>(settings.tokens.size())}));
  Engine& engine = *model.engine;
  SMOE_TRY(const SafetensorsLayout layout,
           lay_out(engine.spec(), settings.tokens.size(), settings.hidden));
  SMOE_TRY(Session session, Session::open(engine));
  const CancelOnSignal cancel(context.signals, engine);
  const auto fill = [&](File& file) -> Status {
    SMOE_DO(file.write_at(0, std::as_bytes(std::span(layout.header_bytes))));
    FileSink sink(file, layout, settings.hidden);
    SMOE_DO(session.score(settings.tokens, sink, [](size_t, size_t) {}));
    return sink.take_status();
  };
  SMOE_DO(replace_file(*settings.output, fill));
  if (settings.json) {
    JsonWriter json;
    json.begin_object().member("output", *settings.output);
    json.member("tokens", uint64_t{settings.tokens.size()});
    json.member("vocabulary", engine.spec().vocabulary).end_object();
    SMOE_DO(context.terminal.print(json.take() + "\n"));
  }
  return ExitStatus::kDone;
}

}  // namespace smoe::cli
