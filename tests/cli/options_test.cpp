// Flags, environment and config file become settings. Ids C3, C20 and C39 of the conventions.
#include "cli/options.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "cli/config_file.h"
#include "support/temp_dir.h"

namespace smoe::cli {
namespace {

using Words = std::vector<std::string>;
using Variables = std::map<std::string, std::string>;

Environment fake(Variables variables) {
  return [variables = std::move(variables)](const std::string& name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

Result<Settings> settings_of(const Words& words, const Variables& variables = {}) {
  auto parsed = parse_options(words, fake(variables));
  if (!parsed) return parsed.error();
  return std::get<Request>(*parsed).settings;
}

std::string error_of(const Words& words, const Variables& variables = {}) {
  const auto parsed = parse_options(words, fake(variables));
  if (parsed) return "no error";
  EXPECT_EQ(parsed.error().code, Code::kUsage);
  EXPECT_EQ(parsed.error().message.find('\n'), std::string::npos);
  return parsed.error().message;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// A config file in a folder of its own, and the variable that leads to it.
class Config {
 public:
  explicit Config(const std::string& text) {
    std::filesystem::create_directories(directory_ / "smoe");
    std::ofstream(directory_.path() / "smoe" / "config.toml") << text;
  }
  Variables variables(Variables more = {}) const {
    more["XDG_CONFIG_HOME"] = directory_.path();
    return more;
  }

 private:
  test::TempDir directory_;
};

TEST(Options, ReadsArgumentsAndFlagsInAnyOrder) {
  const auto settings = settings_of({"run", "--top-k", "40", "model", "--memory=8G", "a prompt",
                                     "--temperature", "0.5", "--stop", "a", "--stop", "b,c"});
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_EQ(settings->command, CommandId::kRun);
  EXPECT_EQ(settings->model, "model");
  EXPECT_EQ(settings->prompt, "a prompt");
  EXPECT_EQ(settings->top_k, 40U);
  EXPECT_EQ(settings->memory_bytes, 8ULL << 30U);
  EXPECT_EQ(settings->temperature, 0.5);
  EXPECT_EQ(settings->stop, (Words{"a", "b,c"}));
}

TEST(Options, LeavesUnsetWhatNobodyGave) {
  const auto settings = settings_of({"run", "model"});
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_FALSE(settings->prompt);
  EXPECT_FALSE(settings->temperature);
  EXPECT_FALSE(settings->memory_bytes);
  EXPECT_TRUE(settings->stop.empty());
  EXPECT_FALSE(settings->bets);
}

TEST(Options, TakeAPromptThatLooksLikeAFlagAfterTwoDashes) {
  const auto settings = settings_of({"run", "model", "--", "--json"});
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_EQ(settings->prompt, "--json");
  EXPECT_FALSE(settings->json);
}

TEST(Options, AnEmptyPromptIsAPrompt) {
  const auto settings = settings_of({"run", "model", ""});
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_EQ(settings->prompt, "");
}

TEST(Options, TheLastOfARepeatedFlagCounts) {
  const auto settings = settings_of({"run", "model", "--top-k", "1", "--top-k", "2"});
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_EQ(settings->top_k, 2U);
}

TEST(Options, SwitchesAndTogglesTurnOnAndOff) {
  EXPECT_TRUE(settings_of({"run", "m", "--bets", "on"})->bets);
  EXPECT_FALSE(settings_of({"run", "m", "--bets", "on", "--no-bets"})->bets);
  EXPECT_TRUE(settings_of({"run", "m", "--stats"})->stats);
  EXPECT_FALSE(settings_of({"run", "m", "--no-stats"}, {{"SMOE_STATS", "1"}})->stats);
  EXPECT_EQ(settings_of({"tokenize", "m"})->special, std::nullopt);
  EXPECT_EQ(settings_of({"tokenize", "m", "--special"})->special, true);
  EXPECT_EQ(settings_of({"tokenize", "m", "--no-special"})->special, false);
}

TEST(Options, ReadTokenLists) {
  const auto settings =
      settings_of({"logits", "m", "--tokens", "1, 2,4294967295", "--output", "f"});
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_EQ(settings->tokens, (std::vector<TokenId>{TokenId{1}, TokenId{2}, TokenId{4294967295}}));
  for (const char* bad : {"", "1,", "1,,2", "-1", "1 2", "4294967296", "x"})
    EXPECT_TRUE(contains(error_of({"logits", "m", "--tokens", bad, "--output", "f"}), "--tokens: "))
        << bad;
}

TEST(Options, RefuseNumbersOutOfRangeAndNameFlagAndRange) {
  EXPECT_EQ(error_of({"run", "m", "--top-k", "-1"}),
            "--top-k: \"-1\" is not a whole number from 0 to 2147483647");
  EXPECT_EQ(error_of({"run", "m", "--temperature", "2.5"}),
            "--temperature: \"2.5\" is not a number from 0 to 2");
  EXPECT_EQ(error_of({"run", "m", "--ring-slots", "1"}),
            "--ring-slots: \"1\" is not a whole number from 2 to 2147483647");
  EXPECT_TRUE(contains(error_of({"run", "m", "--memory", "-8G"}), "--memory: "));
  EXPECT_TRUE(contains(error_of({"run", "m", "--memory", "0"}), "--memory: "));
  EXPECT_TRUE(contains(error_of({"run", "m", "--seed", "18446744073709551616"}), "--seed: "));
}

// Trap 46: every numeric option with -1, 2^31, 2^63, 1e309, text and nothing.
TEST(Options, RefuseNumbersThatAreNone) {
  for (const char* flag :
       {"--max-tokens", "--temperature", "--top-k", "--top-p", "--min-p", "--repeat-penalty",
        "--repeat-last-n", "--presence-penalty", "--frequency-penalty", "--ring-slots", "--ctx",
        "--prompt-chunk", "--threads"})
    for (const char* value : {"-3", "2147483648", "9223372036854775808", "1e309", "nan", "inf",
                              "-inf", "five", "", "5x", " 5", "0x10", "null"})
      EXPECT_TRUE(contains(error_of({"run", "m", flag, value}), flag)) << flag << " " << value;
}

TEST(Options, RefuseWordsThatAreNoChoiceAndListTheOnesThatAre) {
  EXPECT_EQ(error_of({"shatter", "c", "m", "--quant", "best"}),
            "--quant: \"best\" is not one of exact, quality, balanced, small");
  EXPECT_TRUE(contains(error_of({"run", "m", "--bets", "maybe"}), "--bets: \"maybe\" is not on"));
}

TEST(Options, SuggestTheNameThatWasMeant) {
  EXPECT_EQ(error_of({"run", "m", "--temprature", "1"}),
            "smoe run has no option --temprature; did you mean --temperature?");
  EXPECT_TRUE(contains(error_of({"rum", "m"}), "did you mean run?"));
  EXPECT_EQ(error_of({"run", "m", "--frobnicate"}), "smoe run has no option --frobnicate");
}

TEST(Options, SayWhenAFlagBelongsToAnotherCommand) {
  EXPECT_EQ(error_of({"verify", "m", "--top-k", "3"}), "--top-k does not apply to smoe verify");
}

TEST(Options, SayWhatIsMissingOrTooMuch) {
  EXPECT_TRUE(contains(error_of({}), "a command is missing"));
  EXPECT_TRUE(contains(error_of({"run"}), "MODEL is missing"));
  EXPECT_TRUE(contains(error_of({"shatter", "c"}), "MODEL is missing"));
  EXPECT_TRUE(contains(error_of({"eval", "m"}), "--text is missing"));
  EXPECT_TRUE(contains(error_of({"logits", "m", "--tokens", "1"}), "--output is missing"));
  EXPECT_TRUE(contains(error_of({"run", "m", "p", "q"}), "\"q\" is one argument too many"));
  EXPECT_TRUE(contains(error_of({"run", "m", "--top-k"}), "--top-k"));
  EXPECT_TRUE(contains(error_of({"--json", "run"}), "the command comes first"));
}

TEST(Options, SayThatAFlagNeedsAValueAndWhich) {
  EXPECT_TRUE(contains(error_of({"run", "m", "p", "--top-k"}), "--top-k needs a value, N ("));
  EXPECT_TRUE(contains(error_of({"run", "m", "--bets"}), "--bets needs a value, on|off ("));
  EXPECT_TRUE(contains(error_of({"run", "m", "--io"}), "needs a value, auto|uring|pread|buffered"));
}

TEST(Options, ASwitchTakesOnAndOffAndNothingElse) {
  EXPECT_FALSE(settings_of({"run", "m", "--json=off"})->json);
  EXPECT_TRUE(settings_of({"run", "m", "--json=on"})->json);
  EXPECT_TRUE(
      contains(error_of({"run", "m", "--json=maybe"}), "--json: \"maybe\" is not on or off"));
}

TEST(Options, TheEditorIsVisualUnlessThatIsEmpty) {
  EXPECT_EQ(settings_of({"chat", "m"}, {{"VISUAL", "a"}, {"EDITOR", "b"}})->editor, "a");
  EXPECT_EQ(settings_of({"chat", "m"}, {{"VISUAL", ""}, {"EDITOR", "b"}})->editor, "b");
}

TEST(Options, CommonFlagsAreIgnoredWithAWarningWhereTheyMeanNothing) {
  const auto parsed =
      parse_options(Words{"tokenize", "m", "--memory", "8G", "--seed", "1"}, fake({}));
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(
      std::get<Request>(*parsed).warnings,
      (Words{"--seed has no effect on smoe tokenize", "--memory has no effect on smoe tokenize"}));
}

TEST(Options, HelpNeedsNoArguments) {
  for (const Words& words : {Words{"--help"}, Words{"run", "--help"}, Words{"run", "m", "-h"}}) {
    const auto parsed = parse_options(words, fake({{"SMOE_TOP_K", "nonsense"}}));
    ASSERT_TRUE(parsed) << parsed.error().message;
    EXPECT_TRUE(contains(std::get<Answer>(*parsed).text, "Usage: smoe"));
  }
}

TEST(Options, FlagBeatsEnvironmentBeatsConfigFile) {
  const Config config("top-k = 3\nmin-p = 0.25\nseed = 9\n");
  const auto variables = config.variables({{"SMOE_TOP_K", "2"}, {"SMOE_MIN_P", "0.5"}});
  const auto settings = settings_of({"run", "m", "--top-k", "1"}, variables);
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_EQ(settings->top_k, 1U);
  EXPECT_EQ(settings->min_p, 0.5);
  EXPECT_EQ(settings->seed, 9U);
}

TEST(Options, EveryFlagHasItsNameInTheEnvironment) {
  const auto settings = settings_of({"run", "m"}, {{"SMOE_CTX_SIZE", "64"},
                                                   {"SMOE_BETS", "enabled"},
                                                   {"SMOE_JSON", "On"},
                                                   {"SMOE_STOP", "a,b"},
                                                   {"SMOE_MEMORY", "1G"},
                                                   {"SMOE_THREADS", ""}});
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_EQ(settings->context_tokens, 64U);
  EXPECT_TRUE(settings->bets);
  EXPECT_TRUE(settings->json);
  EXPECT_EQ(settings->stop, (Words{"a", "b"}));
  EXPECT_EQ(settings->memory_bytes, 1ULL << 30U);
  EXPECT_FALSE(settings->threads);
  EXPECT_EQ(settings_of({"run", "m"}, {{"SMOE_CTX", "32"}})->context_tokens, 32U);
}

TEST(Options, ErrorsInTheEnvironmentNameTheVariable) {
  EXPECT_TRUE(contains(error_of({"run", "m"}, {{"SMOE_TOP_K", "x"}}), "SMOE_TOP_K: \"x\""));
  EXPECT_TRUE(contains(error_of({"run", "m"}, {{"SMOE_JSON", "maybe"}}), "SMOE_JSON: "));
}

TEST(Options, WhatOneCallDoesIsNotTakenFromTheEnvironment) {
  EXPECT_TRUE(contains(error_of({"eval", "m"}, {{"SMOE_TEXT", "file"}}), "--text is missing"));
}

TEST(Config, TakesEveryKindOfValue) {
  const Config config(
      "temperature = 1\nstats = true\nkernels = \"portable\"\nstop = [\"x\", \"y,z\"]\n"
      "memory = \"2G\"\nrepetition-penalty = 1.5\n");
  const auto settings = settings_of({"run", "m"}, config.variables());
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_EQ(settings->temperature, 1.0);
  EXPECT_TRUE(settings->stats);
  EXPECT_EQ(settings->kernels, CpuKernels::kPortable);
  EXPECT_EQ(settings->stop, (Words{"x", "y,z"}));
  EXPECT_EQ(settings->memory_bytes, 2ULL << 30U);
  EXPECT_EQ(settings->repeat_penalty, 1.5);
}

TEST(Config, ValuesForOtherCommandsAreFine) {
  const Config config("top-k = 3\nquant = \"quality\"\n");
  const auto settings = settings_of({"shatter", "c", "m"}, config.variables());
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_EQ(settings->quant, Quant::kQuality);
}

TEST(Config, ErrorsNameFileLineAndKey) {
  EXPECT_TRUE(contains(error_of({"run", "m"}, Config("\ntop-k = -1\n").variables()),
                       "config.toml:2: top-k: \"-1\" is not a whole number"));
  EXPECT_TRUE(
      contains(error_of({"run", "m"}, Config("topk = 1\n").variables()),
               "config.toml:1: topk is no option that can stand here; did you mean top-k?"));
  EXPECT_TRUE(contains(error_of({"run", "m"}, Config("top-k = [1, 2]\n").variables()),
                       "config.toml:1: top-k takes one value"));
  EXPECT_TRUE(contains(error_of({"run", "m"}, Config("top-k = 1979-05-27\n").variables()),
                       "config.toml:1: top-k is no text"));
  EXPECT_TRUE(
      contains(error_of({"run", "m"}, Config("top-k = \n").variables()), "config.toml:1: "));
}

TEST(Config, IsLookedForWhereTheDesktopRulesSay) {
  EXPECT_EQ(config_path(fake({{"XDG_CONFIG_HOME", "/x"}, {"HOME", "/h"}})), "/x/smoe/config.toml");
  EXPECT_EQ(config_path(fake({{"XDG_CONFIG_HOME", ""}, {"HOME", "/h"}})),
            "/h/.config/smoe/config.toml");
  EXPECT_EQ(config_path(fake({{"XDG_CONFIG_HOME", "relative"}, {"HOME", "/h"}})),
            "/h/.config/smoe/config.toml");
  EXPECT_EQ(config_path(fake({})), std::nullopt);
}

}  // namespace
}  // namespace smoe::cli
