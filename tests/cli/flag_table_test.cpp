// The table of options: consistent, and every option explains itself.
#include "cli/flag_table.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "cli/command_table.h"
#include "cli/flag_value.h"
#include "cli/help.h"

namespace smoe::cli {
namespace {

TEST(FlagTable, SpellsEveryNameOnce) {
  std::set<std::string_view> names;
  for (const Flag& flag : flags()) {
    EXPECT_TRUE(names.insert(flag.name).second) << flag.name;
    if (!flag.alias.empty()) {
      EXPECT_TRUE(names.insert(flag.alias).second) << flag.alias;
    }
  }
}

TEST(FlagTable, SaysOfEveryFlagWhatItDoesAndForWhom) {
  for (const Flag& flag : flags()) {
    EXPECT_FALSE(flag.help.empty()) << flag.name;
    EXPECT_NE(flag.commands, 0) << flag.name;
    EXPECT_EQ(flag.required_by & ~flag.commands, 0) << flag.name;
    const bool choice = std::holds_alternative<ChoiceField>(flag.field);
    EXPECT_EQ(flag.value.empty(), choice || !takes_value(flag)) << flag.name;
  }
}

TEST(FlagTable, DefaultsInHelpAreThoseOfTheSettings) {
  Settings changed;
  changed.window_tokens = 0;
  changed.bets = true;
  const Settings defaults;
  for (const Flag& flag : flags()) {
    if (std::holds_alternative<ChoiceField>(flag.field)) {
      Settings settings;
      ASSERT_TRUE(apply(flag, flag.fallback, flag.name, settings)) << flag.name;
      EXPECT_EQ(settings.quant, defaults.quant) << flag.name;
      EXPECT_EQ(settings.verify, defaults.verify) << flag.name;
      EXPECT_EQ(settings.kernels, defaults.kernels) << flag.name;
      EXPECT_EQ(settings.log_level, defaults.log_level) << flag.name;
    } else if (std::holds_alternative<DefaultedCountField>(flag.field) ||
               std::holds_alternative<ToggleField>(flag.field)) {
      ASSERT_TRUE(apply(flag, flag.fallback, flag.name, changed)) << flag.name;
    }
  }
  EXPECT_EQ(changed.window_tokens, defaults.window_tokens);
  EXPECT_EQ(changed.bets, defaults.bets);
}

TEST(FlagTable, NamesAChoicesWordsInTheOrderOfItsEnumerators) {
  Settings settings;
  for (const Flag& flag : flags()) {
    if (flag.name == "quant") {
      ASSERT_TRUE(apply(flag, "quality", "--quant", settings));
    }
    if (flag.name == "verify") {
      ASSERT_TRUE(apply(flag, "never", "--verify", settings));
    }
    if (flag.name == "kernels") {
      ASSERT_TRUE(apply(flag, "avx2", "--kernels", settings));
    }
    if (flag.name == "log-level") {
      ASSERT_TRUE(apply(flag, "off", "--log-level", settings));
    }
  }
  EXPECT_EQ(settings.quant, Quant::kQuality);
  EXPECT_EQ(settings.verify, Verify::kNever);
  EXPECT_EQ(settings.kernels, CpuKernels::kAvx2);
  EXPECT_EQ(settings.log_level, log::Level::kOff);
}

TEST(FlagTable, HasOneEnvironmentNameForEachFlag) {
  EXPECT_EQ(environment_name("ctx-size"), "SMOE_CTX_SIZE");
  EXPECT_EQ(environment_name("seed"), "SMOE_SEED");
}

TEST(CommandTable, IsInTheOrderOfItsIds) {
  ASSERT_EQ(commands().size(), kCommands);
  for (size_t i = 0; i < kCommands; ++i)
    EXPECT_EQ(command_of(static_cast<CommandId>(i)).id, static_cast<CommandId>(i));
}

TEST(Help, OfACommandListsItsFlagsAndNoOthers) {
  for (const Command& command : commands()) {
    const std::string help = command_help(command);
    for (const Flag& flag : flags()) {
      const bool listed =
          help.find("\n  --" + std::string(flag.name) + "\n") != std::string::npos ||
          help.find("\n  --" + std::string(flag.name) + " ") != std::string::npos;
      EXPECT_EQ(listed, (flag.commands & set_of(command.id)) != 0)
          << command.name << " --" << flag.name;
    }
  }
}

TEST(Help, OfACommandHasPurposeArgumentsAndExamples) {
  for (const Command& command : commands()) {
    const std::string help = command_help(command);
    EXPECT_EQ(help.find(command.purpose), 0U) << command.name;
    for (const Argument& argument : command.arguments)
      EXPECT_NE(help.find("\n  " + std::string(argument.name) + " "), std::string::npos)
          << command.name << " " << argument.name;
    ASSERT_FALSE(command.examples.empty()) << command.name;
    EXPECT_NE(help.find(command.examples.front().line), std::string::npos) << command.name;
  }
}

TEST(Help, StaysWithinTheWidthOfATerminal) {
  std::string text = general_help();
  for (const Command& command : commands()) text += command_help(command);
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = text.find('\n', begin);
    EXPECT_LE(end - begin, 100U) << text.substr(begin, end - begin);
    begin = end + 1;
  }
}

}  // namespace
}  // namespace smoe::cli
