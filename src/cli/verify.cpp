// smoe verify: every checksum of a model folder.
#include "shatter/verify.h"

#include <fmt/format.h>

#include <string>

#include "base/json.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/progress.h"

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

}  // namespace

Outcome verify_command(Context& context) {
  const Settings& settings = context.settings;
  ProgressBar bar(context.terminal);
  SMOE_TRY(const VerifyReport report,
           verify(
               settings.model, threads_of(settings),
               [&bar](uint64_t done, uint64_t total) { bar.update("checking", done, total); },
               &context.signals.cancelled()));
  bar.clear();
  SMOE_DO(context.terminal.print(settings.json ? json_report(report) : text_report(report)));
  return report.problems.empty() ? ExitStatus::kDone : ExitStatus::kFailed;
}

}  // namespace smoe::cli
