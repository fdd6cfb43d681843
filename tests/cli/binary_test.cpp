// The binary as a shell sees it: exit statuses, stdout and stderr, signals, pipes. Id C39.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "cli/command_table.h"
#include "cli/smoe.h"
#include "support/temp_dir.h"

namespace smoe::cli {
namespace {

using nlohmann::json;
using test::ProcessOptions;
using test::ProcessResult;
using testing::HasSubstr;
using testing::StartsWith;

ProcessOptions with_input(std::string input) {
  ProcessOptions options;
  options.input = std::move(input);
  return options;
}

TEST(Binary, HelpOfEveryCommandIsTheAnswerOnStdout) {
  Words names{""};
  for (const Command& command : commands()) names.emplace_back(command.name);
  for (const std::string& name : names) {
    const ProcessResult result = smoe(name.empty() ? Words{"--help"} : Words{name, "--help"});
    EXPECT_EQ(result.status, 0) << name;
    EXPECT_THAT(result.out, HasSubstr("Usage: smoe " + name)) << name;
    EXPECT_EQ(result.err, "") << name;
  }
}

TEST(Binary, TellsItsVersion) {
  const ProcessResult result = smoe({"--version"});
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.out, testing::MatchesRegex("smoe [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

TEST(Binary, WrongUsageEndsWithTwoAndOneLineOnStderr) {
  for (const Words& words :
       {Words{}, Words{"frobnicate"}, Words{"run"}, Words{"run", "m", "--nonsense"},
        Words{"run", "m", "--top-k", "-1"}, Words{"run", "m", "--temperature", "nan"},
        Words{"shatter", "only-one"}, Words{"verify", "a", "b"}, Words{"eval", "m"},
        Words{"logits", "m", "--tokens", "x", "--output", "o"}}) {
    const ProcessResult result = smoe(words);
    expect_one_error(result, 2);
    EXPECT_EQ(result.out, "");
  }
}

TEST(Binary, WithJsonAnErrorIsAnObjectOnStdoutToo) {
  const ProcessResult usage = smoe({"run", "m", "--top-k", "-1", "--json"});
  expect_one_error(usage, 2);
  const json error = json::parse(usage.out).at("error");
  EXPECT_EQ(error.at("code"), "usage");
  EXPECT_THAT(error.at("message"), HasSubstr("--top-k"));

  const ProcessResult missing = smoe({"verify", "/nowhere/at/all", "--json"});
  expect_one_error(missing, 1);
  EXPECT_EQ(json::parse(missing.out).at("error").at("code"), "not_found");
}

TEST(Binary, WhatIsNotThereEndsWithOneAndNamesIt) {
  for (const Words& words :
       {Words{"verify", "/nowhere/m"}, Words{"inspect", "/nowhere/m"},
        Words{"tokenize", "/nowhere/m"}, Words{"run", "/nowhere/m", "x"},
        Words{"shatter", "/nowhere/m", "/tmp/never-written"},
        Words{"eval", "/nowhere/m", "--text", "/nowhere/m"},
        Words{"logits", "/nowhere/m", "--tokens", "1", "--output", "/tmp/never-written"}}) {
    const ProcessResult result = smoe(words);
    expect_one_error(result, 1);
    EXPECT_THAT(result.err, HasSubstr("/nowhere/m"));
    EXPECT_EQ(result.out, "");
    EXPECT_FALSE(std::filesystem::exists("/tmp/never-written"));
  }
}

TEST(Binary, AFileNameCannotBreakTheErrorsLine) {
  expect_one_error(smoe({"verify", "/nowhere/two\nlines\x1b[2J"}), 1);
}

TEST(Binary, EnvironmentAndConfigFileReachIt) {
  test::TempDir home;
  std::filesystem::create_directories(home / "smoe");
  std::ofstream(home / "smoe/config.toml") << "log-level = \"loud\"\n";
  ProcessOptions options;
  options.environment = {{"XDG_CONFIG_HOME", home.path()}};
  ProcessResult result = smoe({"verify", "m"}, options);
  expect_one_error(result, 2);
  EXPECT_THAT(result.err, HasSubstr("config.toml:1: log-level: \"loud\" is not one of debug"));

  options.environment.emplace_back("SMOE_LOG_LEVEL", "quiet");
  result = smoe({"verify", "m"}, options);
  expect_one_error(result, 2);
  EXPECT_THAT(result.err, HasSubstr("SMOE_LOG_LEVEL: \"quiet\" is not one of debug"));
}

class Tokenize : public testing::Test {
 protected:
  static Words words(const Words& more = {}) {
    Words all{"tokenize", tales()};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
};

TEST_F(Tokenize, TurnsTextIntoIdsAndBackByteForByte) {
  const std::string text =
      "Once upon a time, a fox — \"said he\" —\n\n\tran 42 miles. 🦊<|im_end|>";
  const ProcessResult ids = smoe(words(), with_input(text));
  ASSERT_EQ(ids.status, 0) << ids.err;
  EXPECT_EQ(ids.err, "");
  ASSERT_TRUE(json::parse(ids.out).at("ids").is_array());
  EXPECT_EQ(json::parse(ids.out).at("ids").back(), 2);  // the special token was recognised

  const ProcessResult back = smoe(words({"--decode"}), with_input(ids.out));
  EXPECT_EQ(back.status, 0) << back.err;
  EXPECT_EQ(back.out, text);
  const ProcessResult as_json = smoe(words({"--decode", "--json"}), with_input(ids.out));
  EXPECT_EQ(json::parse(as_json.out).at("text"), text);
  const ProcessResult plain = smoe(words({"--decode", "--no-special"}), with_input(ids.out));
  EXPECT_EQ(plain.out + "<|im_end|>", text);
}

TEST_F(Tokenize, ReadsAFileOrAnyPipe) {
  test::TempDir folder;
  const std::string file = folder / "text";
  std::ofstream(file) << "A king.";
  const ProcessResult from_file = smoe(words({"--file", file}));
  ASSERT_EQ(from_file.status, 0) << from_file.err;

  EXPECT_EQ(smoe(words({"--file", "/dev/stdin"}), with_input("A king.")).out, from_file.out);

  const std::string pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(pipe) << "A king."; });
  EXPECT_EQ(smoe(words({"--file", pipe})).out, from_file.out);
  writer.join();
}

TEST_F(Tokenize, EmptyTextHasNoIds) {
  EXPECT_EQ(smoe(words(), with_input("")).out, "{\"ids\":[]}\n");
}

TEST_F(Tokenize, RefusesBytesThatAreNoUtf8AndSaysWhere) {
  const ProcessResult result = smoe(words(), with_input("abc\xff"));
  expect_one_error(result, 1);
  EXPECT_THAT(result.err, HasSubstr("stdin"));
  EXPECT_THAT(result.err, HasSubstr("3"));
  EXPECT_EQ(result.out, "");
}

TEST_F(Tokenize, RefusesWhatIsNoIdAndNamesTheSource) {
  const ProcessResult result = smoe(words({"--decode"}), with_input("1 2 zwei"));
  expect_one_error(result, 1);
  EXPECT_THAT(result.err, HasSubstr("stdin: \"zwei\" is no token id"));
}

TEST_F(Tokenize, IdsBeyondTheVocabularyDecodeToNothing) {
  EXPECT_EQ(smoe(words({"--decode"}), with_input("4000000000")).out, "");
}

TEST_F(Tokenize, CtrlCWhileItWaitsForStdinEndsItWith130) {
  for (const auto& [number, status] : {std::pair(SIGINT, 130), std::pair(SIGTERM, 143)}) {
    ProcessOptions options;
    options.keep_stdin_open = true;
    options.environment = {{"SMOE_LOG_LEVEL", "debug"}};
    test::Process process(command_of(words()), options);
    // Before its waiting thread stands a signal kills the program in the system's own way.
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    process.signal(number);
    EXPECT_EQ(process.wait().status, status);
  }
}

TEST_F(Tokenize, AReaderThatGoesAwayIsNoError) {
  test::TempDir folder;
  const std::string file = folder / "text";
  {
    std::ofstream out(file);
    for (int i = 0; i < 200'000; ++i) out << "king and fox ";
  }
  test::Process process(command_of(words({"--file", file})), {});
  process.close_output();
  const ProcessResult result = process.wait();
  EXPECT_EQ(result.status, 141);
  EXPECT_EQ(result.err, "");
}

TEST_F(Tokenize, AFullDiskBehindStdoutIsAnError) {
  ProcessOptions options = with_input("A king.");
  options.output_file = "/dev/full";
  const ProcessResult result = smoe(words(), options);
  expect_one_error(result, 1);
  EXPECT_THAT(result.err, HasSubstr("stdout"));
}

// One shattered model for the tests below.
class Model : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new test::TempDir;  // NOLINT(cppcoreguidelines-owning-memory): GoogleTest's own way
    shattered_ = smoe({"shatter", golden("qwen3_moe"), model()});
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  static std::string model() { return *folder_ / "model"; }

  static inline test::TempDir* folder_ = nullptr;
  static inline ProcessResult shattered_;
};

TEST_F(Model, ShatterSaysWhatItWroteAndDrawsNoBarIntoAPipe) {
  EXPECT_EQ(shattered_.status, 0) << shattered_.err;
  EXPECT_THAT(shattered_.out, HasSubstr("written in"));
  EXPECT_EQ(shattered_.err.find('\x1b'), std::string::npos) << shattered_.err;
}

TEST_F(Model, ASecondShatterSaysSoAndDoesNothing) {
  const auto before = std::filesystem::last_write_time(model() + "/scout.safetensors");
  const ProcessResult again = smoe({"shatter", golden("qwen3_moe"), model()});
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_THAT(again.out, HasSubstr("nothing was written"));
  EXPECT_EQ(std::filesystem::last_write_time(model() + "/scout.safetensors"), before);

  const ProcessResult as_json = smoe({"shatter", golden("qwen3_moe"), model(), "--json"});
  EXPECT_EQ(json::parse(as_json.out).at("already_done"), true);
  EXPECT_EQ(json::parse(as_json.out).at("bytes_written"), 0);
}

TEST_F(Model, ShatterRefusesToMixTwoPlans) {
  expect_one_error(smoe({"shatter", golden("qwen3_moe"), model(), "--quant", "quality"}), 2);
  EXPECT_EQ(smoe({"verify", model()}).status, 0);
}

TEST_F(Model, VerifyCountsWhatItChecked) {
  const ProcessResult text = smoe({"verify", model()});
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_THAT(text.out, StartsWith("ok: "));
  const json report = json::parse(smoe({"verify", model(), "--json", "--threads", "1"}).out);
  EXPECT_EQ(report.at("ok"), true);
  EXPECT_GT(report.at("records"), 0);
  EXPECT_GT(report.at("bytes"), 0);
  EXPECT_TRUE(report.at("problems").empty());
}

TEST_F(Model, VerifyEndsWithOneWhereAByteIsWrong) {
  const std::string damaged = *folder_ / "damaged";
  std::filesystem::copy(model(), damaged, std::filesystem::copy_options::recursive);
  const std::string vault = damaged + "/vault/layer-00000.safetensors";
  ASSERT_TRUE(std::filesystem::exists(vault));
  {
    std::fstream file(vault, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-1, std::ios::end);
    file.put('\x55');
  }
  const ProcessResult result = smoe({"verify", damaged});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.out, HasSubstr("layer-00000"));
  const ProcessResult as_json = smoe({"verify", damaged, "--json"});
  EXPECT_EQ(as_json.status, 1);
  EXPECT_EQ(json::parse(as_json.out).at("ok"), false);
  EXPECT_EQ(json::parse(as_json.out).at("problems").size(), 1U);
}

TEST_F(Model, InspectShowsArchitectureTensorsSizesAndMemory) {
  const ProcessResult text = smoe({"inspect", model()});
  EXPECT_EQ(text.status, 0) << text.err;
  for (const char* part : {"qwen3_moe", "layer.*.attention.q", "expert.down", "scout", "vault",
                           "experts resident", "100 %"})
    EXPECT_THAT(text.out, HasSubstr(part));

  const json report = json::parse(smoe({"inspect", model(), "--json"}).out);
  EXPECT_EQ(report.at("kind"), "model");
  EXPECT_EQ(report.at("spec").at("family"), "qwen3_moe");
  EXPECT_EQ(report.at("memory").back().at("resident_share"), 1.0);
  uint64_t tensors = 0;
  for (const json& group : report.at("tensors")) tensors += group.at("bytes").get<uint64_t>();
  EXPECT_LE(tensors,
            report.at("scout_bytes").get<uint64_t>() + report.at("vault_bytes").get<uint64_t>());
}

TEST_F(Model, InspectOfACheckpointForetellsItsModelFolder) {
  const json before = json::parse(smoe({"inspect", golden("qwen3_moe"), "--json"}).out);
  const json after = json::parse(smoe({"inspect", model(), "--json"}).out);
  EXPECT_EQ(before.at("kind"), "checkpoint");
  for (const char* key : {"spec", "parameters", "tensors", "records", "vault_bytes", "scout_bytes"})
    EXPECT_EQ(before.at(key), after.at(key)) << key;
}

TEST_F(Model, InspectPlansForTheMemoryThatIsAskedFor) {
  const json plan =
      json::parse(smoe({"inspect", model(), "--json", "--memory", "1G", "--ctx", "32"}).out);
  ASSERT_EQ(plan.at("memory").size(), 1U);
  EXPECT_EQ(plan.at("memory").at(0).at("budget_bytes"), 1U << 30U);
  EXPECT_EQ(plan.at("memory").at(0).at("context_tokens"), 32);

  const json small = json::parse(smoe({"inspect", model(), "--json", "--memory", "10K"}).out);
  EXPECT_EQ(small.at("memory").at(0).at("fits"), false);
  expect_one_error(smoe({"inspect", model(), "--ctx", "2000000"}), 2);
}

TEST_F(Model, CommonFlagsPassEverywhereWithAWarning) {
  const ProcessResult result = smoe({"verify", model(), "--seed", "1", "--memory", "8G"});
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.err, HasSubstr("smoe: warning: --seed has no effect on smoe verify\n"));
  EXPECT_EQ(smoe({"verify", model(), "--seed", "1", "--quiet"}).err, "");
}

TEST_F(Model, TheLogGoesToAFileTooAndNeverToStdout) {
  const std::string log = *folder_ / "log";
  const ProcessResult result =
      smoe({"verify", model(), "--log-level", "debug", "--log-file", log, "--log-jsonl"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, StartsWith("ok: "));
  EXPECT_TRUE(std::filesystem::exists(log));
}

}  // namespace
}  // namespace smoe::cli
