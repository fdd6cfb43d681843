// bench, trace, oracle and tokenize --explain as a user calls them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "cli/smoe.h"
#include "support/temp_dir.h"

namespace smoe::cli {
namespace {

using nlohmann::json;
using test::ProcessOptions;
using test::ProcessResult;
using testing::HasSubstr;

class Tools : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new test::TempDir;  // NOLINT(cppcoreguidelines-owning-memory): GoogleTest's own way
    ASSERT_EQ(smoe({"shatter", tales(), model()}).status, 0);
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  static std::string model() { return *folder_ / "tales"; }
  static std::string file(const std::string& name) { return *folder_ / name; }
  static std::string content(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  static inline test::TempDir* folder_ = nullptr;
};

TEST_F(Tools, TimePromptsAndGenerationAtEachDepth) {
  const Words words{"bench",   model(), "--prompt-tokens", "16", "--gen-tokens", "4",
                    "--depth", "0",     "--depth",         "32", "--repeat",     "2",
                    "--quiet"};
  Words as_json = words;
  as_json.emplace_back("--json");
  const ProcessResult result = smoe(as_json);
  ASSERT_EQ(result.status, 0) << result.err;
  const json report = json::parse(result.out);
  ASSERT_EQ(report["results"].size(), 4U);
  EXPECT_EQ(report["results"][0]["test"], "pp16");
  EXPECT_EQ(report["results"][3]["test"], "tg4@32");
  EXPECT_GT(report["memory_bytes_per_second"], 0.0);
  for (const json& each : report["results"]) {
    EXPECT_EQ(each["seconds"].size(), 2U);
    EXPECT_GT(each["bytes_touched_per_token"], 0.0);
  }
  // A token reads the scout, and eight experts of 48 KiB in each of six layers.
  EXPECT_GT(report["results"][1]["bytes_touched_per_token"], 6.0 * 8 * 40000);

  Words markdown = words;
  markdown.emplace_back("--markdown");
  EXPECT_THAT(smoe(markdown).out, HasSubstr("| pp16 |"));
}

TEST_F(Tools, RefuseADepthThatIsNoneOrDoesNotFit) {
  expect_one_error(smoe({"bench", model(), "--depth", "deep"}), 2);
  const ProcessResult result = smoe({"bench", model(), "--depth", "5000", "--ctx", "1024"});
  expect_one_error(result, 2);
  EXPECT_THAT(result.err, HasSubstr("the context holds 1024"));
}

TEST_F(Tools, RecordATraceAndSayWhatEachPolicyMakesOfIt) {
  ProcessOptions options;
  options.input = "Once upon a time there was a fox who wished to be king of all the animals.";
  const std::string trace = file("fox.trace");
  const ProcessResult recorded =
      smoe({"trace", model(), "--text", "/dev/stdin", "--output", trace, "--quiet"}, options);
  ASSERT_EQ(recorded.status, 0) << recorded.err;
  EXPECT_THAT(recorded.out, HasSubstr("demands"));

  const ProcessResult result =
      smoe({"oracle", trace, "--output", file("fox.svg"), "--json", "--quiet"});
  ASSERT_EQ(result.status, 0) << result.err;
  const json report = json::parse(result.out);
  for (const json& row : report["rows"]) {
    const json& rates = row["hit_rates"];
    EXPECT_LE(rates["lru"], rates["belady"]);
    EXPECT_LE(rates["fitted"], rates["belady"]);
    EXPECT_GE(row["gain_of_a_gib"], 0.0);
  }
  EXPECT_EQ(content(file("fox.svg")).rfind("<svg ", 0), 0U);
  EXPECT_THAT(smoe({"oracle", trace}).out, HasSubstr("belady"));
}

TEST_F(Tools, NameTheFileThatIsNoTrace) {
  std::ofstream(file("no.trace")) << "not a trace";
  const ProcessResult result = smoe({"oracle", file("no.trace")});
  expect_one_error(result, 1);
  EXPECT_THAT(result.err, HasSubstr("no.trace"));
}

TEST_F(Tools, ExplainATextPieceByPiece) {
  ProcessOptions options;
  options.input = "The fox\n<|im_end|>\xc3\xa9";
  const ProcessResult result = smoe({"tokenize", model(), "--explain", "--json"}, options);
  ASSERT_EQ(result.status, 0) << result.err;
  std::string whole;
  bool special = false;
  const json report = json::parse(result.out);
  for (const json& piece : report["pieces"]) {
    for (const json& byte : piece["bytes"]) whole += static_cast<char>(byte.get<int>());
    special = special || (piece["special"] == true && piece["text"] == "<|im_end|>");
  }
  EXPECT_EQ(whole, options.input);
  EXPECT_TRUE(special);
  EXPECT_THAT(smoe({"tokenize", model(), "--explain"}, options).out, HasSubstr("\\n"));
}

TEST_F(Tools, LeaveACompactTokenizerThatGivesTheSameTokens) {
  ASSERT_TRUE(std::filesystem::exists(model() + "/tokenizer.bin"));
  ProcessOptions options;
  options.input = "Once upon a time";
  const std::string compact = smoe({"tokenize", model()}, options).out;
  EXPECT_EQ(compact, smoe({"tokenize", tales()}, options).out);
  // Damaged, it is passed over with a warning.
  const std::string copy = file("damaged");
  std::filesystem::copy(model(), copy, std::filesystem::copy_options::recursive);
  std::ofstream(copy + "/tokenizer.bin", std::ios::in) << "damage";
  const ProcessResult damaged = smoe({"tokenize", copy}, options);
  EXPECT_EQ(damaged.status, 0) << damaged.err;
  EXPECT_EQ(damaged.out, compact);
  EXPECT_THAT(damaged.err, HasSubstr("tokenizer.bin"));
}

TEST_F(Tools, NameTheFormatsThatWork) {
  const ProcessResult result =
      smoe({"shatter", tales(), file("odd"), "--experts", "q9_9", "--quiet"});
  expect_one_error(result, 2);
  EXPECT_THAT(result.err, HasSubstr("q8_0"));
}

}  // namespace
}  // namespace smoe::cli
