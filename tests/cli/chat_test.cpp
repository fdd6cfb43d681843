// smoe chat and smoe template as a user calls them: through a pipe, and at a terminal (tmux).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/chat_commands.h"
#include "cli/line_editor.h"
#include "cli/smoe.h"
#include "cli/tmux.h"
#include "support/temp_dir.h"

namespace smoe::cli {
namespace {

using nlohmann::json;
using test::ProcessOptions;
using test::ProcessResult;
using test::Tmux;
using testing::HasSubstr;
using testing::Not;

TEST(ChatCommands, AreToldFromMessages) {
  EXPECT_EQ(parse_chat_line("hello")->action, ChatAction::kSay);
  EXPECT_EQ(parse_chat_line("  /help me")->text, "  /help me");
  EXPECT_EQ(parse_chat_line("/set  top-k  4 ")->text, "top-k  4");
  EXPECT_EQ(parse_chat_line("/quit")->action, ChatAction::kBye);
  const auto slash = parse_chat_line("//etc/passwd is a file");
  EXPECT_EQ(slash->action, ChatAction::kSay);
  EXPECT_EQ(slash->text, "/etc/passwd is a file");
}

TEST(ChatCommands, RefuseWhatTheyDoNotKnowAndNameWhatIsNear) {
  EXPECT_THAT(parse_chat_line("/claer").error().message, HasSubstr("/clear"));
  EXPECT_THAT(parse_chat_line("/save").error().message, HasSubstr("FILE is missing"));
  EXPECT_THAT(parse_chat_line("/clear all").error().message, HasSubstr("takes nothing"));
}

TEST(ChatHistory, KeepsEveryTextOnOneLine) {
  for (const char* text : {"plain", "two\nlines", R"(back\slash \n not a newline)", "\\", ""}) {
    EXPECT_EQ(escape_history(text).find('\n'), std::string::npos);
    EXPECT_EQ(unescape_history(escape_history(text)), text);
  }
}

class Chat : public testing::Test {
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

  static Words chat_words(const Words& more) {
    Words words{"chat", model(), "--temperature", "0", "--max-tokens", "20"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  static ProcessResult chat(const std::string& input, const Words& more = {}) {
    ProcessOptions options;
    options.input = input;
    return smoe(chat_words(more), options);
  }
  // The prompt of a request, as smoe template --json gives it.
  static json prompt_of(const json& variables) {
    ProcessOptions options;
    options.input = variables.dump();
    const ProcessResult result = smoe({"template", model(), "--variables", "-", "--json"}, options);
    EXPECT_EQ(result.status, 0) << result.err;
    return json::parse(result.out);
  }
  static std::string content(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  static inline test::TempDir* folder_ = nullptr;
};

TEST_F(Chat, AnswersEveryLineOfAPipeWithAnswersAloneOnStdout) {
  const ProcessResult result =
      chat("Tell me a story about a fox and a king.\n/stats\nGo on.\n", {"--log-level", "warn"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_GE(std::count(result.out.begin(), result.out.end(), '\n'), 2);
  EXPECT_EQ(result.out.find('\033'), std::string::npos);
  EXPECT_THAT(result.out, Not(HasSubstr(">>>")));
  EXPECT_THAT(result.err, HasSubstr("tokens/s"));
}

TEST_F(Chat, ComputesOnlyWhatIsNewAndTheSameAsIfAllWereNew) {
  const std::string saved = file("saved.json");
  const ProcessResult talk = chat(
      "Tell me a story about a fox.\n/stats\nWhat did the king say to "
      "that?\n/stats\n/save " +
          saved + "\n",
      {"--max-tokens", "60"});
  ASSERT_EQ(talk.status, 0) << talk.err;
  const json conversation = json::parse(content(saved));
  ASSERT_EQ(conversation["messages"].size(), 4U);

  // The second prompt's suffix is shorter than the first answer, which it does not hold again.
  size_t at = talk.err.find(" tokens in ", talk.err.rfind("\nprompt"));
  ASSERT_NE(at, std::string::npos) << talk.err;
  while (talk.err[at - 1] != ' ') --at;
  EXPECT_LT(std::stoi(talk.err.substr(at)), 60) << talk.err;

  const ProcessResult again =
      chat("/load " + saved + "\n/retry\n", {"--max-tokens", "60", "--log-level", "warn"});
  ASSERT_EQ(again.status, 0) << again.err;
  EXPECT_EQ(again.out, conversation["messages"][3]["content"].get<std::string>() + "\n");
}

TEST_F(Chat, TakesManyLinesBetweenFencesAndSaysLinesThatBeginWithASlash) {
  const std::string saved = file("fences.json");
  ASSERT_EQ(chat("\"\"\"one\n/clear\ntwo\"\"\"\n//three\n/save " + saved + "\n").status, 0);
  const json messages = json::parse(content(saved))["messages"];
  ASSERT_EQ(messages.size(), 4U);
  EXPECT_EQ(messages[0]["content"], "one\n/clear\ntwo");
  EXPECT_EQ(messages[2]["content"], "/three");
}

TEST_F(Chat, SaysThatTheContextIsFullAndDropsNothing) {
  std::string story = "Tell me more";
  for (int i = 0; i < 60; ++i) story += " about the fox and the king";
  const ProcessResult result = chat("Hello.\n" + story + ".\n", {"--ctx", "128"});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("the context holds 128"));
  EXPECT_THAT(result.err, HasSubstr("/clear"));
  EXPECT_FALSE(result.out.empty()) << "the first message was answered";
}

TEST_F(Chat, SaysWhatIsWrongWithASavedFileAndAnOption) {
  std::ofstream(file("odd.json")) << R"({"messages":[{"role":"wizard","content":"x"}]})";
  expect_one_error(chat("/load " + file("odd.json") + "\n", {"--log-level", "warn"}), 1);
  EXPECT_THAT(chat("/load " + file("odd.json") + "\n").err, HasSubstr("odd.json: message 1"));
  EXPECT_THAT(chat("/set temperatur 1\n").err, HasSubstr("no such option"));
  EXPECT_THAT(chat("/set temperature hot\n").err, HasSubstr("/set temperature"));
}

TEST_F(Chat, AnswersAgainInOtherWordsAndShowsWhatIsSet) {
  const ProcessResult result = chat("Hello.\n/retry\n/set top-k 7\n/set\n",
                                    {"--seed", "1", "--temperature", "1", "--log-level", "warn"});
  EXPECT_EQ(result.status, 0) << result.err;
  const std::string half = result.out.substr(0, result.out.size() / 2);
  EXPECT_NE(half + half, result.out);
  EXPECT_THAT(result.err, testing::ContainsRegex("top-k +7 "));
  EXPECT_THAT(result.err, testing::ContainsRegex("top-p +0.95 ")) << "as the model's authors say";
}

// Whoever types a special token, calls a tool by its name or has it in a result forges none.
TEST_F(Chat, MakesNoSpecialTokenOfWhatAMessageSpellsOut) {
  const json tokenizer = json::parse(content(model() + "/tokenizer.json"));
  std::string every;
  std::vector<int> special;
  for (const json& token : tokenizer["added_tokens"]) {
    every += token["content"].get<std::string>();
    special.push_back(token["id"]);
  }
  ASSERT_FALSE(every.empty());
  const auto specials_of = [&](const json& messages) {
    const json prompt = prompt_of({{"messages", messages}, {"add_generation_prompt", true}});
    std::vector<int> found;
    for (const json& id : prompt["ids"])
      if (std::find(special.begin(), special.end(), id.get<int>()) != special.end())
        found.push_back(id);
    return std::make_pair(found, prompt);
  };
  const auto spoken = [](const std::string& role, const std::string& text) {
    return json{{{"role", role}, {"content", text}}};
  };
  const auto clean = specials_of(spoken("user", "x")).first;
  for (const char* role : {"user", "system", "assistant", "tool"})
    EXPECT_EQ(specials_of(spoken(role, every)).first, clean) << role;
  EXPECT_EQ(specials_of(spoken("user" + every, "x")).first, clean) << "in a role";

  // run and chat encode as template does: their prompts are as long as its.
  const json said = {{{"role", "system"}, {"content", every}},
                     {{"role", "user"}, {"content", every}}};
  const auto [found, prompt] = specials_of(said);
  EXPECT_EQ(found.size(), clean.size() + 2) << "those of one more turn";
  EXPECT_THAT(prompt["text"].get<std::string>(), HasSubstr(every));
  const ProcessResult run = smoe({"run", model(), every, "--system", every, "--max-tokens", "1",
                                  "--json", "--temperature", "0"});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(json::parse(run.out)["usage"]["prompt_tokens"], prompt["ids"].size());
  const ProcessResult talk = chat("/system " + every + "\n" + every + "\n/stats\n");
  EXPECT_THAT(talk.err, HasSubstr(" " + std::to_string(prompt["ids"].size()) + " tokens in"));
}

TEST_F(Chat, ShowsWhichTokensTheTemplateWrote) {
  const json prompt = prompt_of({{"messages", {{{"role", "user"}, {"content", "fox"}}}}});
  ASSERT_EQ(prompt["ids"].size(), prompt["from_template"].size());
  EXPECT_EQ(prompt["from_template"].front(), true);
  EXPECT_THAT(prompt["from_template"], testing::Contains(json(false)));
}

TEST_F(Chat, HoldsAConversationAtATerminal) {
  Tmux terminal(file("tmux"), command_of(chat_words({"--max-tokens", "40"})),
                {{"XDG_STATE_HOME", file("state")}, {"EDITOR", "sed -i s/wolf/hare/"}});
  ASSERT_TRUE(terminal.shows("/help lists")) << terminal.screen();
  terminal.line("Tell me a story about a fox.");
  ASSERT_TRUE(terminal.shows("tokens/s", 1)) << terminal.screen();
  terminal.line("Go on.");
  ASSERT_TRUE(terminal.shows("tokens/s", 2)) << terminal.screen();

  terminal.resize(50, 20);
  terminal.line("\"\"\"The first line,");
  ASSERT_TRUE(terminal.shows("... "));
  terminal.line("and the second.\"\"\"");
  ASSERT_TRUE(terminal.shows("tokens/s", 3)) << terminal.screen();

  terminal.line("/clear");
  ASSERT_TRUE(terminal.shows("is forgotten"));
  terminal.type("a wolf");
  terminal.keys({"C-g"});
  ASSERT_TRUE(terminal.shows("tokens/s", 4)) << terminal.screen();
  terminal.line("/save " + file("typed.json"));
  ASSERT_TRUE(terminal.shows("2 messages"));
  EXPECT_EQ(json::parse(content(file("typed.json")))["messages"][0]["content"], "a hare");

  terminal.keys({"Up", "Up", "Up", "Up"});
  ASSERT_TRUE(terminal.shows("second")) << terminal.screen();
  terminal.keys({"C-c"});
  ASSERT_TRUE(terminal.shows("Ctrl-D or /bye")) << terminal.screen();
  terminal.keys({"C-d"});
  ASSERT_TRUE(terminal.shows("[status 0]")) << terminal.screen();
  EXPECT_THAT(content(file("state") + "/smoe/history"), HasSubstr("Tell me a story"));
}

TEST_F(Chat, StopsAnAnswerAtTheFirstCtrlCAndEndsAtTheSecond) {
  Tmux terminal(file("tmux2"), command_of({"chat", model(), "--ring-slots", "12", "--no-history",
                                           "--stop", "never to be said", "--temperature", "1",
                                           "--min-p", "0", "--ctx", "1024"}));
  ASSERT_TRUE(terminal.shows("/help lists")) << terminal.screen();
  terminal.line("Tell me a long story about a fox and a king.");
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  terminal.keys({"C-c"});
  ASSERT_TRUE(terminal.shows(", stopped")) << terminal.screen();
  terminal.line("/help");
  ASSERT_TRUE(terminal.shows("this list")) << "the conversation goes on";
  terminal.keys({"C-c"});
  ASSERT_TRUE(terminal.shows("Ctrl-C again")) << terminal.screen();
  terminal.keys({"C-c"});
  ASSERT_TRUE(terminal.shows("[status 130]")) << terminal.screen();
}

// The screen with its colours, after `words` ran with these variables alone.
std::string colored_screen(const std::string& socket, const Words& variables, const Words& words) {
  Words command{"/usr/bin/env", "-i", "PATH=/usr/bin:/bin"};
  command.insert(command.end(), variables.begin(), variables.end());
  for (const std::string& word : command_of(words)) command.push_back(word);
  Tmux terminal(socket, command);
  EXPECT_TRUE(terminal.shows("[status")) << terminal.screen();
  return terminal.screen({"-e"});
}

TEST_F(Chat, ShowsColoursOnlyToWhoWantsThem) {
  const Words wrong{"verify", "/nowhere/at/all"};
  const std::string red = "\033[1m\033[31merror";
  EXPECT_THAT(colored_screen(file("colour"), {"TERM=xterm-256color"}, wrong), HasSubstr(red));
  for (const char* plain : {"TERM=dumb", "NO_COLOR=1"})
    EXPECT_THAT(colored_screen(file(plain), {"TERM=xterm-256color", plain}, wrong),
                Not(HasSubstr("\033[31m")))
        << plain;
  // Through a pipe, where nobody would see them, they must be asked for.
  const auto piped = [&](std::vector<std::pair<std::string, std::string>> variables) {
    ProcessOptions options;
    options.environment = std::move(variables);
    return smoe(wrong, options).err;
  };
  const std::string raw_red = "\033[1;31merror";
  EXPECT_THAT(piped({{"TERM", "xterm"}}), Not(HasSubstr("\033")));
  EXPECT_THAT(piped({{"CLICOLOR_FORCE", "0"}}), Not(HasSubstr("\033")));
  EXPECT_THAT(piped({{"CLICOLOR_FORCE", "1"}}), HasSubstr(raw_red));
  EXPECT_THAT(piped({{"CLICOLOR_FORCE", "1"}, {"NO_COLOR", "1"}}), Not(HasSubstr("\033")));
}

// A history that cannot be kept is said once, and the conversation goes on; without a home there is
// none to keep.
TEST_F(Chat, GoesOnWithoutAHistoryThatCannotBeKept) {
  std::ofstream(file("plain")) << "no folder";
  std::filesystem::create_directories(file("odd/smoe/history"));
  const std::pair<Words, std::string> kCases[] = {
      {{"XDG_STATE_HOME=" + file("plain")}, "plain/smoe/history: cannot write"},
      {{"XDG_STATE_HOME=" + file("odd")}, "odd/smoe/history"},
      {{"HOME=" + file("plain"), "TERM=dumb"}, "plain/.local/state/smoe/history: cannot write"},
      {{"HOME=" + file("new-home")}, ""},
      {{}, ""},
  };
  int sockets = 0;
  for (const auto& [variables, warning] : kCases) {
    // env drops what Tmux says to the sanitizers.
    Words command{"/usr/bin/env",        "-i",         "PATH=/usr/bin:/bin",
                  "TERM=xterm-256color", "NO_COLOR=1", "ASAN_OPTIONS=detect_leaks=0"};
    command.insert(command.end(), variables.begin(), variables.end());
    for (const std::string& word : command_of({"chat", model(), "--max-tokens", "4"}))
      command.push_back(word);
    Tmux terminal(file("history" + std::to_string(sockets++)), command);
    ASSERT_TRUE(terminal.shows("/help lists")) << terminal.screen();
    terminal.line("Hello.");
    ASSERT_TRUE(terminal.shows("tokens/s", 1)) << terminal.screen();
    terminal.line("Go on.");
    ASSERT_TRUE(terminal.shows("tokens/s", 2)) << terminal.screen();
    terminal.keys({"C-d"});
    ASSERT_TRUE(terminal.shows("[status 0]")) << terminal.screen();
    const std::string screen = terminal.screen();
    EXPECT_EQ(Tmux::count(screen, "lines are not remembered"), warning.empty() ? 0U : 1U) << screen;
    EXPECT_THAT(screen, HasSubstr(warning));
    EXPECT_THAT(terminal.screen({"-e"}), Not(HasSubstr("\033[2m")));
  }
  EXPECT_THAT(content(file("new-home") + "/.local/state/smoe/history"), HasSubstr("Go on."));
}

}  // namespace
}  // namespace smoe::cli
