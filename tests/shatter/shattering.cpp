#include "shatter/shattering.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <sstream>
#include <thread>

namespace smoe::test {

namespace fs = std::filesystem;

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void write_file(const fs::path& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

Snapshot snapshot(const fs::path& folder) {
  Snapshot result;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string name = fs::relative(entry.path(), folder).string();
    if (entry.is_directory()) {
      result[name + "/"] = "";
    } else {
      result[name] = content_of(entry.path());
    }
  }
  return result;
}

std::vector<std::string> names_of(const Snapshot& snapshot) {
  std::vector<std::string> names;
  for (const auto& [name, content] : snapshot) names.push_back(name);
  return names;
}

ShatterReport shatter_folder(const fs::path& checkpoint, const fs::path& model,
                             ShatterOptions options) {
  const auto report = shatter(checkpoint, model, options);
  EXPECT_TRUE(report) << report.error().message;
  return report ? *report : ShatterReport();
}

std::string shatter_outcome(const fs::path& checkpoint, const fs::path& model,
                            ShatterOptions options) {
  const auto report = shatter(checkpoint, model, options);
  if (report) return "done";
  return std::string(name_of(report.error().code)) + ": " + report.error().message;
}

std::vector<std::string> problems_in(const fs::path& model) {
  const auto report = verify(model, 2, nullptr, nullptr);
  if (report) return report->problems;
  return {"cannot be examined: " + report.error().message};
}

Workshop::Workshop(const TinyShape& shape, unsigned shards) {
  TinyCheckpoint source = tiny_checkpoint(shape);
  source.files["tokenizer.json"] = "{\"model\": {}}";
  source.files["generation_config.json"] = "{\"eos_token_id\": [1, 2]}";
  source.write(checkpoint, shards);
}

Run run_shatter(const Workshop& workshop, const std::map<std::string, std::string>& environment,
                double kill_after_seconds) {
  const std::string out = workshop.folder / "stdout";
  const std::string err = workshop.folder / "stderr";
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(::open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666), 1);
    ::dup2(::open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666), 2);
    ::setenv("LD_PRELOAD", SMOE_FAULT_SHIM, 1);
    ::setenv("ASAN_OPTIONS", "verify_asan_link_order=0", 1);
    for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
    ::execl(SMOE_SHATTER_PROGRAM, "shatter_program", workshop.checkpoint.c_str(),
            workshop.model.c_str(), "2", nullptr);
    ::_exit(127);
  }
  if (kill_after_seconds > 0) {
    std::this_thread::sleep_for(std::chrono::duration<double>(kill_after_seconds));
    ::kill(child, SIGKILL);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, content_of(out), content_of(err)};
}

}  // namespace smoe::test
