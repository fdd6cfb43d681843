// Real templates against what Jinja2 made of them.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "text/template/support.h"

namespace smoe {
namespace {

// RELIABILITY N6; traps 7, 10, 11. Each case has its variables and the exact text.
void expect_golden_texts(const std::string& name) {
  std::ifstream file(SMOE_SOURCE_DIR "/tests/data/templates/" + name + ".json");
  const auto golden = nlohmann::ordered_json::parse(file);
  const auto parsed = ChatTemplate::parse(golden["template"].get<std::string>(), name);
  ASSERT_TRUE(parsed) << parsed.error().message;
  ASSERT_GT(golden["cases"].size(), 50u);
  for (const auto& each : golden["cases"]) {
    const auto rendered = parsed->render(test::variables(each["variables"]), test::options());
    ASSERT_TRUE(rendered) << each["name"] << ": " << rendered.error().message;
    EXPECT_EQ(rendered->text, each["text"].get<std::string>()) << each["name"];
  }
}

TEST(Golden, Qwen3) { expect_golden_texts("qwen3"); }
TEST(Golden, DeepseekV3) { expect_golden_texts("deepseek_v3"); }
TEST(Golden, Llama3) { expect_golden_texts("llama3"); }

}  // namespace
}  // namespace smoe
