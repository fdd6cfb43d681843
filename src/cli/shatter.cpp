// smoe shatter: checkpoint to model folder.
#include "shatter/shatter.h"

#include <fmt/format.h>

#include <filesystem>
#include <string>

#include "base/json.h"
#include "base/units.h"
#include "cli/calibrate.h"
#include "cli/commands.h"
#include "cli/progress.h"
#include "cli/storage_choice.h"
#include "formats/companion.h"
#include "text/compact_file.h"
#include "text/tokenizer.h"

namespace smoe::cli {
namespace {

std::string json_report(const Settings& settings, const ShatterReport& report) {
  JsonWriter json;
  json.begin_object();
  json.member("model", settings.model).member("already_done", report.already_done);
  json.member("layers_resumed", report.layers_resumed);
  json.member("bytes_read", report.bytes_read).member("bytes_written", report.bytes_written);
  json.member("seconds", report.seconds);
  json.key("notes").begin_array();
  for (const std::string& note : report.notes) json.value(note);
  json.end_array().end_object();
  return json.take() + "\n";
}

std::string text_report(const Settings& settings, const ShatterReport& report) {
  if (report.already_done)
    return fmt::format("{} holds this model already; nothing was written\n", settings.model);
  std::string text;
  for (const std::string& note : report.notes) text += fmt::format("note: {}\n", note);
  text += fmt::format("{}: {} written in {:.1f} s", settings.model,
                      format_bytes(report.bytes_written), report.seconds);
  if (report.layers_resumed > 0)
    text += fmt::format("; {} files were there from an interrupted run", report.layers_resumed);
  return text + "\n";
}

// What this build cannot read of a tokenizer is told before the weights are written, not at the
// first prompt: another tokenizer in its place would be a worse model without any error.
Status check_tokenizer(const std::filesystem::path& checkpoint) {
  std::error_code ignored;
  if (!is_gguf_path(checkpoint) && !std::filesystem::is_directory(checkpoint, ignored)) return {};
  auto tokenizer = Tokenizer::load(checkpoint);
  if (tokenizer || tokenizer.error().code == Code::kNotFound) return {};
  return std::move(tokenizer).error();
}

// Saves later starts from reading the tokenizer.json; they can do without.
void compact_tokenizer_of(const Context& context) {
  const std::filesystem::path folder = context.settings.model;
  std::error_code ignored;
  if (!std::filesystem::exists(folder / kTokenizerName, ignored) ||
      std::filesystem::exists(folder / kCompactName, ignored))
    return;
  if (Status status = write_compact_file(folder); !status)
    context.terminal.print_warning(status.error().message + "; the model works without " +
                                   std::string(kCompactName) + ", and starts more slowly");
}

}  // namespace

Outcome shatter_command(Context& context) {
  const Settings& settings = context.settings;
  SMOE_DO(check_tokenizer(settings.checkpoint));
  ProgressBar bar(context.terminal);
  SMOE_TRY(ShatterOptions options, storage_options(settings));
  TextImportance calibrated;
  if (settings.calibration_file) {
    if (settings.quant == Quant::kExact && !options.experts && !options.scout)
      return Error{Code::kUsage,
                   "--calibrate: nothing is rounded; --quant, --experts or --scout say what"};
    SMOE_TRY(calibrated, importance_of_text(context));
    options.calibration.checksum = calibrated.importance->checksum();
    options.calibration.importance = [&](Role role, uint32_t layer, uint32_t expert) {
      return calibrated.importance->of(role, layer, expert);
    };
  }
  options.threads = threads_of(settings);
  options.cancelled = &context.signals.cancelled();
  options.progress = [&bar](const ShatterProgress& progress) {
    bar.update(progress.doing, progress.bytes_done, progress.bytes_total);
  };
  SMOE_TRY(const ShatterReport report, shatter(settings.checkpoint, settings.model, options));
  bar.clear();
  compact_tokenizer_of(context);
  SMOE_DO(context.terminal.print(settings.json ? json_report(settings, report)
                                               : text_report(settings, report)));
  return ExitStatus::kDone;
}

}  // namespace smoe::cli
