// shatter_program CHECKPOINT MODEL THREADS: one shatter in a process of its own, for tests that
// kill it, starve it or make its file system fail. Prints what it did, or one line on stderr.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "shatter/shatter.h"

namespace {

uint64_t status_bytes(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.compare(0, key.size(), key) == 0)
      return std::strtoull(line.c_str() + key.size(), nullptr, 10) * 1024;
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 4) return 2;
  uint64_t anonymous_bytes = 0;
  smoe::ShatterOptions options;
  options.threads = static_cast<unsigned>(std::atoi(arguments[3]));
  options.progress = [&](const smoe::ShatterProgress&) {
    anonymous_bytes = std::max(anonymous_bytes, status_bytes("RssAnon:"));
  };
  const auto report = smoe::shatter(arguments[1], arguments[2], options);
  if (!report) {
    std::fprintf(stderr, "error: %s\n", report.error().message.c_str());
    return 1;
  }
  std::printf("{\"anonymous_bytes\":%llu,\"peak_bytes\":%llu,\"resumed\":%u}\n",
              static_cast<unsigned long long>(anonymous_bytes),
              static_cast<unsigned long long>(status_bytes("VmHWM:")), report->layers_resumed);
  return 0;
}
