// Generated templates against Jinja2 itself.
#include <gtest/gtest.h>

#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "support/effort.h"
#include "text/template/support.h"

namespace smoe {
namespace {

using Line = nlohmann::ordered_json;

// `use` gets each line that the oracle prints. An oracle that fails is a failed test.
void for_each_reference(const std::string& arguments, const std::function<void(const Line&)>& use) {
  const std::string command =
      "/usr/bin/python3 " SMOE_SOURCE_DIR "/tests/oracles/templates.py " + arguments + " 2>&1";
  std::FILE* pipe = ::popen(command.c_str(), "r");
  ASSERT_NE(pipe, nullptr) << command;
  std::string line;
  std::string complaint;
  char buffer[1 << 16];
  while (std::fgets(buffer, sizeof buffer, pipe) != nullptr) {
    line += buffer;
    if (line.back() != '\n') continue;
    auto value = Line::parse(line, nullptr, false);
    if (value.is_discarded()) {
      complaint += line;
    } else {
      use(value);
    }
    line.clear();
  }
  const int status = ::pclose(pipe);
  EXPECT_TRUE(status == 0 && complaint.empty())
      << command << " failed (it needs Debian's python3-jinja2):\n"
      << complaint.substr(0, 2000);
}

// Integers beyond 64 bits are kept, not computed with; and a slip of the pen in the name of a
// filter, test or function is found in branches that are never taken.
bool is_stricter_by_design(const std::string& outcome) {
  return outcome.starts_with("error: ") &&
         (outcome.ends_with("integer arithmetic beyond 64 bits is not supported") ||
          outcome.find(" is named '") != std::string::npos ||
          outcome.find(": no type has a method '") != std::string::npos);
}

// RELIABILITY N6: equal bytes, or an error in both.
TEST(Reference, GeneratedTemplatesRenderAsInJinja2) {
  const size_t count = test::rounds({.usual = 500, .sanitized = 150, .in_long_run = 10'000});
  size_t compared = 0;
  size_t with_text = 0;
  size_t different = 0;
  size_t stricter = 0;
  for_each_reference(std::to_string(count) + " 20260131", [&](const Line& line) {
    const auto source = line["template"].get<std::string>();
    const std::string ours = test::rendered(source, line["variables"]);
    const bool refused = ours.starts_with("error: ");
    ++compared;
    if (line.contains("text")) ++with_text;
    if (line.contains("text") ? ours == line["text"].get<std::string>() : refused) return;
    if (is_stricter_by_design(ours)) {
      ++stricter;
      return;
    }
    if (different++ >= 10) return;
    ADD_FAILURE() << source << "\nvariables: " << line["variables"].dump()
                  << "\nJinja2: " << line.value("text", line.value("error", ""))
                  << "\nours:   " << ours;
  });
  EXPECT_EQ(compared, count);
  EXPECT_GT(with_text, count / 2) << "most templates should have a text to compare";
  EXPECT_EQ(different, 0u);
  EXPECT_LT(stricter, count / 100);
}

}  // namespace
}  // namespace smoe
