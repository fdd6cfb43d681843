// Runs a script of tests/oracles, which asks the reference library.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/token.h"
#include "support/effort.h"

namespace smoe::test {

inline std::vector<uint32_t> numbers(const std::vector<TokenId>& tokens) {
  std::vector<uint32_t> result;
  result.reserve(tokens.size());
  for (const TokenId token : tokens) result.push_back(static_cast<uint32_t>(token));
  return result;
}

inline std::vector<TokenId> token_ids(const std::vector<uint32_t>& numbers) {
  std::vector<TokenId> result;
  result.reserve(numbers.size());
  for (const uint32_t number : numbers) result.push_back(TokenId{number});
  return result;
}

// `use` gets each line that the script prints. A script that fails is a failed test, never a
// skipped one.
inline void for_each_reference_line(const std::string& script_and_arguments,
                                    const std::function<void(const nlohmann::json&)>& use) {
  const std::string command =
      "node " SMOE_SOURCE_DIR "/tests/oracles/" + script_and_arguments + " 2>&1";
  std::FILE* pipe = ::popen(command.c_str(), "r");
  ASSERT_NE(pipe, nullptr) << command;
  std::string line;
  std::string complaint;
  char buffer[1 << 16];
  while (std::fgets(buffer, sizeof buffer, pipe) != nullptr) {
    line += buffer;
    if (line.back() != '\n') continue;
    auto value = nlohmann::json::parse(line, nullptr, false);
    if (value.is_discarded()) {
      complaint += line;
    } else {
      use(value);
    }
    line.clear();
  }
  const int status = ::pclose(pipe);
  EXPECT_TRUE(status == 0 && complaint.empty())
      << command << " failed (npm ci in tests/oracles installs what it needs):\n"
      << complaint.substr(0, 2000);
}

}  // namespace smoe::test
