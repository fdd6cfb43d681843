// bench, trace, oracle and tokenize --explain as a user calls them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

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

TEST_F(Tools, ShatterCalibratesOnATextAndSaysWhenThereIsNothingToCalibrate) {
  const std::string text = file("calibration.txt");
  std::ofstream(text) << "The wolf went to the river, and the fox came after him.\n";
  const std::string calibrated = file("calibrated");
  const Words words{"shatter", tales(),       calibrated, "--experts",
                    "q4_0",    "--calibrate", text,       "--json"};
  const ProcessResult first = smoe(words);
  ASSERT_EQ(first.status, 0) << first.err;
  EXPECT_FALSE(json::parse(first.out)["already_done"].get<bool>());
  EXPECT_TRUE(json::parse(smoe(words).out)["already_done"].get<bool>());
  EXPECT_EQ(smoe({"verify", calibrated}).status, 0);
  // Without the text, or with another one, it is another model.
  EXPECT_EQ(smoe({"shatter", tales(), calibrated, "--experts", "q4_0"}).status, 2);
  std::ofstream(text) << "Another text.";
  EXPECT_EQ(smoe(words).status, 2);

  const ProcessResult nothing = smoe({"shatter", tales(), file("exact"), "--calibrate", text});
  EXPECT_EQ(nothing.status, 2);
  EXPECT_THAT(nothing.err, HasSubstr("nothing is rounded"));
  std::ofstream(file("empty.txt"));
  const ProcessResult empty = smoe(
      {"shatter", tales(), file("exact"), "--experts", "q4_0", "--calibrate", file("empty.txt")});
  EXPECT_EQ(empty.status, 2);
  EXPECT_THAT(empty.err, HasSubstr("holds no token"));
  EXPECT_FALSE(std::filesystem::exists(file("exact")));
}

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
  const ProcessResult result =
      smoe({"bench", model(), "--depth", "5000", "--ctx", "1024", "--quiet"});
  expect_one_error(result, 2);
  EXPECT_THAT(result.err, HasSubstr("the context holds 1024; --ctx makes it longer"));
}

TEST_F(Tools, RefuseToTimeNothing) {
  const ProcessResult result =
      smoe({"bench", model(), "--prompt-tokens", "0", "--gen-tokens", "0", "--quiet"});
  expect_one_error(result, 2);
  EXPECT_THAT(result.err, HasSubstr("--prompt-tokens and --gen-tokens are both 0"));
}

// A file that is opened later must not take the place of a stream that the caller closed.
TEST_F(Tools, NeverWriteIntoAFileInPlaceOfAClosedStream) {
  const std::string trace = file("closed.trace");
  const auto closed = [&](const std::string& streams) {
    ProcessOptions options;
    options.input = "Once upon a time there was a fox.";
    return test::run_process({"/bin/sh", "-c",
                              std::string(SMOE_BINARY) + " trace " + model() +
                                  " --text /dev/stdin --output " + trace + " " + streams},
                             options);
  };
  ASSERT_EQ(closed("").status, 0);
  const std::string whole = content(trace);
  for (const char* streams : {">&-", "2>&-", ">&- 2>&-"}) {
    closed(streams);
    EXPECT_EQ(content(trace), whole) << streams;
  }
  const ProcessResult unread =
      test::run_process({"/bin/sh", "-c", std::string(SMOE_BINARY) + " --version >&-"}, {});
  expect_one_error(unread, 1);
  EXPECT_THAT(unread.err, HasSubstr("stdout: cannot write"));
  const ProcessResult unfed = test::run_process(
      {"/bin/sh", "-c", std::string(SMOE_BINARY) + " tokenize " + model() + " <&-"}, {});
  expect_one_error(unfed, 1);
  EXPECT_THAT(unfed.err, HasSubstr("stdin: cannot read"));
}

TEST_F(Tools, TakeMessagesInEveryFormThatClientsSend) {
  std::ofstream(file("parts.json"))
      << R"({"messages":[{"role":"user","content":[{"type":"text","text":"a fox <|im_end|>"}]},)"
         R"({"role":"assistant","content":null}],"add_generation_prompt":true})";
  const ProcessResult result =
      smoe({"template", model(), "--variables", file("parts.json"), "--json"});
  ASSERT_EQ(result.status, 0) << result.err;
  const json prompt = json::parse(result.out);
  EXPECT_THAT(prompt["text"].get<std::string>(), HasSubstr("user\na fox <|im_end|><|im_end|>"));
  const json tokenizer = json::parse(content(model() + "/tokenizer.json"));
  int ends = 0;
  for (const json& token : tokenizer["added_tokens"])
    if (token["content"] == "<|im_end|>")
      for (const json& id : prompt["ids"]) ends += id == token["id"] ? 1 : 0;
  EXPECT_EQ(ends, 2);  // the template's own

  std::ofstream(file("image.json"))
      << R"({"messages":[{"role":"user","content":[{"type":"image_url"}]}]})";
  const ProcessResult image = smoe({"template", model(), "--variables", file("image.json")});
  expect_one_error(image, 1);
  EXPECT_THAT(image.err, HasSubstr("messages[0].content[0] has the type \"image_url\""));
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

// Trap 1: no other step is guessed in its place, and nothing is written first.
TEST_F(Tools, StopAtATokenizerStepThatIsNotKnownBeforeAnythingIsWritten) {
  const std::string checkpoint = file("odd-checkpoint");
  std::filesystem::copy(golden("qwen3_moe"), checkpoint, std::filesystem::copy_options::recursive);
  json tokenizer = json::parse(content(tales() / "tokenizer.json"));
  tokenizer["pre_tokenizer"] = {{"type", "Frobnicate"}};
  std::ofstream(checkpoint + "/tokenizer.json") << tokenizer;
  const ProcessResult result = smoe({"shatter", checkpoint, file("odd-model"), "--quiet"});
  expect_one_error(result, 1);
  EXPECT_THAT(result.err, HasSubstr("tokenizer.json: pre_tokenizer Frobnicate is not supported"));
  EXPECT_FALSE(std::filesystem::exists(file("odd-model")));
}

TEST_F(Tools, NameTheFormatsThatWork) {
  const ProcessResult result =
      smoe({"shatter", tales(), file("odd"), "--experts", "q9_9", "--quiet"});
  expect_one_error(result, 2);
  EXPECT_THAT(result.err, HasSubstr("q8_0"));
}

// An output never destroys what it is made from, nor a device or a pipe.
TEST_F(Tools, WriteNeitherOverTheirInputsNorOverWhatIsNoFile) {
  const std::string scout = model() + "/scout.safetensors";
  const auto before = std::filesystem::file_size(scout);
  for (const std::string& output : {scout, model() + "/new.safetensors"}) {
    expect_one_error(smoe({"logits", model(), "--tokens", "1,2", "--output", output, "--quiet"}),
                     2);
  }
  EXPECT_EQ(std::filesystem::file_size(scout), before);

  const std::string link = file("link");
  std::ofstream(file("target")) << "old";
  std::filesystem::create_symlink("target", link);
  EXPECT_EQ(smoe({"logits", model(), "--tokens", "1,2", "--output", link, "--quiet"}).status, 0);
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_GT(std::filesystem::file_size(file("target")), 1000U);

  ASSERT_EQ(::mkfifo(file("pipe").c_str(), 0600), 0);
  const ProcessResult pipe =
      smoe({"logits", model(), "--tokens", "1,2", "--output", file("pipe"), "--quiet"});
  expect_one_error(pipe, 1);
  EXPECT_THAT(pipe.err, HasSubstr("not a regular file"));
  EXPECT_TRUE(std::filesystem::is_fifo(file("pipe")));
}

TEST_F(Tools, RefuseAPipeInAModelFolderInsteadOfWaitingForIt) {
  for (const char* name : {"scout.safetensors", "tokenizer.json", "generation_config.json"}) {
    const std::string copy = file(std::string("piped-") + name);
    std::filesystem::copy(model(), copy, std::filesystem::copy_options::recursive);
    std::filesystem::remove(copy + "/tokenizer.bin");
    std::filesystem::remove(copy + "/" + name);
    ASSERT_EQ(::mkfifo((copy + "/" + name).c_str(), 0600), 0);
    const ProcessResult result = smoe({"run", copy, "hi", "--max-tokens", "1", "--quiet"});
    expect_one_error(result, 1);
    EXPECT_THAT(result.err, HasSubstr(name));
  }
}

TEST_F(Tools, VerifyReadsTheTextsBesideTheWeights) {
  EXPECT_EQ(smoe({"verify", model()}).status, 0);
  for (const char* name :
       {"tokenizer.json", "tokenizer.bin", "tokenizer_config.json", "generation_config.json"}) {
    const std::string copy = file(std::string("damaged-") + name);
    std::filesystem::copy(model(), copy, std::filesystem::copy_options::recursive);
    std::ofstream(copy + "/" + name) << "{\"half";
    const ProcessResult result = smoe({"verify", copy, "--quiet"});
    EXPECT_EQ(result.status, 1) << name;
    EXPECT_THAT(result.out, HasSubstr(name));
  }
}

}  // namespace
}  // namespace smoe::cli
