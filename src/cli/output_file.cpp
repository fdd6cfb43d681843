#include "cli/output_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace smoe::cli {
namespace {

namespace fs = std::filesystem;

bool lies_in(const fs::path& output, const fs::path& folder) {
  std::error_code error;
  const fs::path inner = fs::weakly_canonical(output, error);
  const fs::path outer = fs::canonical(folder, error);
  if (error || !fs::is_directory(outer, error)) return false;
  return std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end()).first == outer.end();
}

}  // namespace

Status check_output(const std::string& output, std::initializer_list<std::string> inputs) {
  for (const std::string& input : inputs) {
    std::error_code ignored;
    if (fs::equivalent(output, input, ignored))
      return Error{Code::kUsage, fmt::format("--output {}: would overwrite what is read", output)};
    if (lies_in(output, input))
      return Error{Code::kUsage,
                   fmt::format("--output {}: lies in {}, which is only read", output, input)};
  }
  return {};
}

}  // namespace smoe::cli
