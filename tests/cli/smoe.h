// Runs the real smoe binary.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "support/process.h"

namespace smoe::cli {

using Words = std::vector<std::string>;

inline std::filesystem::path source_dir() { return SMOE_SOURCE_DIR; }
inline std::filesystem::path tales() { return source_dir() / "models" / "tales"; }
inline std::filesystem::path golden(const std::string& name) {
  return source_dir() / "tests" / "data" / "golden" / name;
}

inline Words command_of(const Words& words) {
  Words command{SMOE_BINARY};
  command.insert(command.end(), words.begin(), words.end());
  return command;
}

inline test::ProcessResult smoe(const Words& words, const test::ProcessOptions& options = {}) {
  return test::run_process(command_of(words), options);
}

// An error is one line on stderr that begins in one way.
inline void expect_one_error(const test::ProcessResult& result, int status) {
  EXPECT_EQ(result.status, status) << result.err;
  EXPECT_EQ(result.err.find("smoe: error: "), 0U) << result.err;
  EXPECT_EQ(result.err.find('\n'), result.err.size() - 1) << result.err;
}

}  // namespace smoe::cli
