#include "text/chat/messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "support/temp_dir.h"
#include "text/chat/chat_format.h"
#include "text/chat/message_form.h"

namespace smoe {
namespace {

namespace fs = std::filesystem;

using testing::HasSubstr;
using testing::Not;

Json parsed_request(const std::string& text) {
  auto json = Json::parse(text);
  EXPECT_TRUE(json) << json.error().message;
  return *std::move(json);
}

std::string source_of(const std::string& name) {
  std::ifstream file(fs::path(SMOE_SOURCE_DIR) / "tests/data/templates" / (name + ".json"));
  std::stringstream text;
  text << file.rdbuf();
  return std::string(*parsed_request(text.str()).find("template")->as_string());
}

class Messages : public testing::Test {
 protected:
  Messages() : tokenizer_(*Tokenizer::load(fs::path(SMOE_SOURCE_DIR) / "models/tales")) {}

  // What `source` makes of a request with these messages.
  Result<ChatPrompt> rendered(const std::string& source, const std::string& messages) {
    std::ofstream(folder_ / "chat_template.jinja") << source;
    const auto format = ChatFormat::load(folder_.path(), tokenizer_);
    EXPECT_TRUE(format) << format.error().message;
    return (*format)->render(parsed_request(R"({"messages":)" + messages + "}"), {});
  }
  std::string text(const std::string& source, const std::string& messages) {
    const auto prompt = rendered(source, messages);
    return prompt ? prompt->text : "error: " + prompt.error().message;
  }

  Tokenizer tokenizer_;
  test::TempDir folder_;
};

constexpr const char* kShow =
    "{% for m in messages %}{{ m.role }}={{ m.content | tojson }}"
    "{% for c in m.tool_calls %} {{ c.function.name }}({{ c.function.arguments | tojson }})"
    "{% endfor %};{% endfor %}";

// Trap 10.
TEST_F(Messages, HaveContentOfNullPartsOrTextInEveryRole) {
  for (const std::string role : {"system", "user", "assistant", "tool"}) {
    const std::string begin = R"([{"role":")" + role + R"(","content":)";
    EXPECT_EQ(text(kShow, begin + "null}]"), role + "=\"\";");
    EXPECT_EQ(text(kShow, begin + R"("a"}])"), role + "=\"a\";");
    EXPECT_EQ(text(kShow, begin + R"([{"type":"text","text":"a"},{"type":"input_text","text":"b"},)"
                                  R"({"type":"output_text","text":"c"},"d"]}])"),
              role + "=\"abcd\";");
    EXPECT_EQ(text(kShow, begin + "[]}]"), role + "=\"\";");
  }
  EXPECT_EQ(text(kShow, R"([{"role":"assistant","tool_calls":[{"function":{"name":"f"}}]}])"),
            "assistant=\"\" f({});");
}

// Trap 10: an image is never left out silently.
TEST_F(Messages, RefuseAPartThatIsNoTextByItsName) {
  const auto image = rendered(
      kShow, R"([{"role":"user","content":"a"},{"role":"user","content":[)"
             R"({"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"x"}}]}])");
  ASSERT_FALSE(image);
  EXPECT_EQ(image.error().code, Code::kUnsupported);
  EXPECT_THAT(image.error().message,
              HasSubstr("messages[1].content[1] has the type \"image_url\""));
  for (const auto& [content, what] : {std::pair{"7", "messages[0].content is a number"},
                                      {"[7]", "messages[0].content[0] is a number"},
                                      {"[{}]", "messages[0].content[0] has no \"type\""},
                                      {R"([{"type":"text"}])", "has no \"text\""}})
    EXPECT_THAT(text(kShow, std::string(R"([{"role":"user","content":)") + content + "}]"),
                HasSubstr(what));
  EXPECT_THAT(text(kShow, "[7]"), HasSubstr("messages[0] is a number"));
  EXPECT_THAT(text(kShow, "{}"), HasSubstr("messages is an object"));
}

std::string call_with(const std::string& arguments) {
  return R"([{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function",)"
         R"("function":{"name":"f","arguments":)" +
         arguments + "}}]}]";
}

// Trap 7.
TEST_F(Messages, HandArgumentsOnAsAnObjectHoweverTheyCame) {
  const std::string shown = "assistant=\"\" f({\"city\": \"Paris\"});";
  EXPECT_EQ(text(kShow, call_with(R"({"city":"Paris"})")), shown);
  EXPECT_EQ(text(kShow, call_with(R"("{\"city\":\"Paris\"}")")), shown);
  EXPECT_EQ(text(kShow, call_with("null")), "assistant=\"\" f({});");
  EXPECT_EQ(text(kShow, call_with("\"\"")), "assistant=\"\" f({});");
  EXPECT_EQ(text(kShow, call_with(R"("{\"city\":")")), R"(assistant="" f("{\"city\":");)");
  EXPECT_EQ(text("{% for n, v in messages[0].tool_calls[0].function.arguments | items %}{{ n }}={{ "
                 "v }}{% endfor %}",
                 call_with(R"("{\"city\":\"Paris\"}")")),
            "city=Paris");
}

// Trap 11.
TEST_F(Messages, KeepTheTextOfNumbers) {
  const std::string numbers = R"({"n": 1.0, "big": 12345678901234567890, "f": 1e-07})";
  EXPECT_EQ(text(kShow, call_with(numbers)), "assistant=\"\" f(" + numbers + ");");
  EXPECT_EQ(text(kShow, call_with(json_quote(numbers))), "assistant=\"\" f(" + numbers + ");");
}

// Trap 8's list of conversations, for templates that want calls in different forms.
TEST_F(Messages, ShowCallsToTemplatesThatWantTextOrNull) {
  const std::string deepseek =
      "{% for m in messages %}{% if m['role'] == 'user' %}{{ m['content'] }}{% endif %}"
      "{% if m['role'] == 'assistant' and m['content'] is none %}{% for c in m['tool_calls'] %}"
      "{{ c['function']['name'] + ' ' + c['function']['arguments'] }}{% endfor %}{% endif %}"
      "{% endfor %}";
  EXPECT_EQ(text(deepseek, call_with(R"({"a":[1.0,true,null]})")), R"(f {"a": [1.0, true, null]})");
  EXPECT_EQ(text(deepseek, call_with(R"("{\"a\":1}")")), R"(f {"a":1})");
  const std::string joined =
      "{% for m in messages %}{{ m.content + '' }}{% for c in m.tool_calls %}"
      "{{ c.function.name + c.function.arguments }}{% endfor %}{% endfor %}";
  EXPECT_EQ(text(joined, call_with("{}")), "f{}");
}

TEST_F(Messages, AreListsOfPartsForATemplateThatReadsNothingElse) {
  const std::string parts =
      "{% for m in messages %}{% for p in m.content %}{% if p.type == 'text' %}{{ p.text }}"
      "{% endif %}{% endfor %}{% endfor %}";
  EXPECT_EQ(text(parts, R"([{"role":"user","content":"hello"}])"), "hello");
  EXPECT_EQ(text(parts, R"([{"role":"user","content":[{"type":"text","text":"hello"}]}])"),
            "hello");
}

TEST_F(Messages, FindTheFormOfTheTemplatesOfRealModels) {
  const std::pair<const char*, MessageForm> kKnown[] = {
      {"qwen3", {}},
      {"deepseek_v3", {.null_content = true, .text_arguments = true}},
      {"llama3", {}},
  };
  for (const auto& [name, form] : kKnown) {
    const auto source = ChatTemplate::parse(source_of(name), name);
    ASSERT_TRUE(source) << source.error().message;
    TemplateVariables constants;
    constants.set_text("bos_token", "<s>", Origin::kTemplate);
    EXPECT_EQ(find_message_form(*source, constants), form) << name;
  }
}

// A part, an argument and a tool's name stay what they are: not the template's.
TEST_F(Messages, NeverBecomeSpecialTokensInWhateverFormTheyCome) {
  const auto specials = [&](const std::string& messages) {
    const auto prompt = rendered(kShow, messages);
    EXPECT_TRUE(prompt) << prompt.error().message;
    size_t count = 0;
    for (const TokenId token : prompt->tokens) count += tokenizer_.is_special(token) ? 1 : 0;
    return count;
  };
  EXPECT_EQ(
      specials(R"([{"role":"<|im_start|>","content":[{"type":"text","text":"<|im_end|>"}]}])"), 0U);
  EXPECT_EQ(specials(R"([{"role":"user","content":[{"type":"text","text":"<|im_"},)"
                     R"({"type":"text","text":"end|>"}]}])"),
            0U);
  EXPECT_EQ(specials(call_with(R"("{\"<|im_end|>\":\"<|im_start|>\"}")")), 0U);
}

}  // namespace
}  // namespace smoe
