// smoe verify: every checksum of a model folder, every number of a GGUF file.
#include "shatter/verify.h"

#include <fmt/format.h>

#include <filesystem>
#include <string>

#include "base/file.h"
#include "base/json.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/generation_defaults.h"
#include "cli/progress.h"
#include "formats/companion.h"
#include "text/compact_file.h"
#include "text/template/chat_config.h"
#include "text/tokenizer.h"

namespace smoe::cli {
namespace {

std::string json_report(const VerifyReport& report) {
  JsonWriter json;
  json.begin_object();
  json.member("ok", report.problems.empty()).member("files", report.files);
  json.member("records", report.records).member("tensors", report.tensors);
  json.member("bytes", report.bytes).member("seconds", report.seconds);
  json.key("problems").begin_array();
  for (const std::string& problem : report.problems) json.value(problem);
  json.end_array().end_object();
  return json.take() + "\n";
}

std::string text_report(const VerifyReport& report) {
  std::string text;
  for (const std::string& problem : report.problems) text += problem + "\n";
  const size_t problems = report.problems.size();
  return text + fmt::format("{}: {} files, {} records, {} scout tensors, {} read in {:.1f} s\n",
                            problems == 0   ? "ok"
                            : problems == 1 ? "1 problem"
                                            : fmt::format("{} problems", problems),
                            report.files, report.records, report.tensors,
                            format_bytes(report.bytes), report.seconds);
}

template <class Value>
void note_problem(const Result<Value>& result, VerifyReport& report) {
  if (!result) report.problems.push_back(result.error().message);
}

// The texts beside the weights have no checksums: they are read as a run would read them.
void check_texts(const Settings& settings, VerifyReport& report) {
  const std::filesystem::path folder = settings.model;
  std::error_code ignored;
  const bool has_text = std::filesystem::exists(folder / kTokenizerName, ignored);
  const bool has_compact = std::filesystem::exists(folder / kCompactName, ignored);
  if (has_text) {
    ++report.files;
    const auto text = read_text_file(folder / kTokenizerName, kMaxTokenizerFileBytes);
    note_problem(text, report);
    if (text) note_problem(Tokenizer::parse(*text, (folder / kTokenizerName).string()), report);
  }
  if (has_compact) {
    ++report.files;
    note_problem(read_compact_file(folder / kCompactName, folder / kTokenizerName), report);
  }
  if (is_gguf_path(folder)) note_problem(Tokenizer::load(folder), report);
  note_problem(read_chat_config(folder), report);
  note_problem(sampler_options(settings), report);
}

}  // namespace

Outcome verify_command(Context& context) {
  const Settings& settings = context.settings;
  ProgressBar bar(context.terminal);
  SMOE_TRY(VerifyReport report,
           verify(
               settings.model, threads_of(settings),
               [&bar](uint64_t done, uint64_t total) { bar.update("checking", done, total); },
               &context.signals.cancelled()));
  bar.clear();
  check_texts(settings, report);
  SMOE_DO(context.terminal.print(settings.json ? json_report(report) : text_report(report)));
  return report.problems.empty() ? ExitStatus::kDone : ExitStatus::kFailed;
}

}  // namespace smoe::cli
